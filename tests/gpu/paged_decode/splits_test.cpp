// What splitting the context and packing heads may not change.

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/kernels/paged_decode/partitions.h"
#include "reference/registry/reference_backends.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/paged_decode/decode_checks.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Rungs 3, 4 and 5 have one order of additions within a partition; 4 and 5 have one altogether.
void check_rungs_alike(const std::shared_ptr<Device>& device) {
  std::vector<AttentionCase> table = attention_cases(8000);
  const std::size_t stride = device->kind() == DeviceKind::kCuda ? 1 : 5;
  for (std::size_t index = 0; index < table.size(); index += stride) {
    CAPTURE(table[index].name);
    const AttentionStep step = table[index].step();
    const AttentionResult grouped = decode_by(5, step, device);
    check_same_bits(grouped, decode_by(4, step, device));
    if (step.variant.sinks.empty()) check_same_bits(grouped, decode_by(3, step, device));
  }
  for (const AttentionCase& long_case : long_cases()) {
    CAPTURE(long_case.name);
    const AttentionStep step = long_case.step();
    check_same_bits(decode_by(5, step, device), decode_by(4, step, device));
  }
}

double mean_error(const Tensor& got, const Tensor& expected) {
  double sum = 0.0;
  for (std::int64_t index = 0; index < got.size(); ++index) {
    sum += std::abs(got.value(index) - expected.value(index));
  }
  return sum / static_cast<double>(got.size());
}

}  // namespace

TEST_SUITE("paged decode in partitions") {
  TEST_CASE("rungs 3 and 4 and 5 have the same bits within a partition (simulator)") {
    check_rungs_alike(simulator_device());
  }
  TEST_CASE("rungs 3 and 4 and 5 have the same bits within a partition (GPU)") {
    if (const auto device = gpu_or_skip()) check_rungs_alike(device);
  }

  TEST_CASE("K11: eight partitions are as accurate as none") {
    double split_error = 0.0;
    double whole_error = 0.0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      RandomStepOptions options;
      options.dtype = DType::kBFloat16;
      options.num_query_heads = options.num_kv_heads = 1;
      options.head_size = options.head_size_v = 16;
      options.block_size = 64;
      options.requests = {{1, 4096}};
      const AttentionStep step = random_step(options, seed);
      const Tensor reference = attend(step, *make_reference_backend()).output;
      whole_error += mean_error(decode_by(3, step, simulator_device()).output, reference);
      split_error += mean_error(decode_by(4, step, simulator_device()).output, reference);
    }
    CHECK(split_error <= 1.2 * whole_error);
  }

  TEST_CASE("a context has as many partitions as begin in it") {
    CHECK(num_partitions(0) == 0);
    CHECK(num_partitions(1) == 1);
    CHECK(num_partitions(512) == 1);
    CHECK(num_partitions(513) == 2);
  }
}
