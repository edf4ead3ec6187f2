// What every kernel that attends must hold, whatever its ladder: all sizes of heads and groups that models have.

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/gpu/attending_kernels.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using Names = std::set<std::string>;

// A decode, and a chunk of a prefill.
RandomStepOptions small_batch(DType dtype) {
  RandomStepOptions options;
  options.dtype = dtype;
  options.num_query_heads = options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 64;
  options.block_size = 16;
  options.requests = {{1, 17}, {3, 20}};
  return options;
}

// Attends by every kernel that takes the step, each within its bound.
// Returns the names of those that do not.
Names refusing(const std::vector<AttendingKernel>& kernels, const RandomStepOptions& options) {
  const AttentionStep step = random_step(options, static_cast<std::uint64_t>(options.head_size));
  Names names;
  for (const AttendingKernel& kernel : kernels) {
    CAPTURE(kernel.name);
    AttentionResult result;
    if (attends(kernel, step, result)) {
      check_within_bound(step, result, *kernel.backend);
    } else {
      names.insert(kernel.name);
    }
  }
  return names;
}

const Names kNone;
const Names kOnTensorCores = {"paged_decode/7_tensor_cores", "paged_prefill/2_tensor_cores",
                              "paged_prefill/3_pipelined"};

// Tensor cores multiply 16 elements at a time, rung 6 of decode loads 16 bytes at a time.
Names refusing_head_size(std::int64_t head_size, DType dtype) {
  if (dtype == DType::kFloat32) {
    Names names = kOnTensorCores;
    if (head_size % 4 != 0) names.insert("paged_decode/6_pipelined");
    return names;
  }
  Names names = head_size % 16 == 0 ? kNone : kOnTensorCores;
  if (head_size % 8 != 0) names.insert("paged_decode/6_pipelined");
  return names;
}

void check_head_sizes(const std::shared_ptr<Device>& device) {
  const std::vector<AttendingKernel> kernels = attending_kernels(device);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const std::int64_t head_size : {32, 50, 64, 72, 96, 112, 128, 192, 200, 256}) {
      CAPTURE(head_size);
      RandomStepOptions options = small_batch(dtype);
      options.head_size = options.head_size_v = head_size;
      CHECK(refusing(kernels, options) == refusing_head_size(head_size, dtype));
    }
  }
}

void check_groups(const std::shared_ptr<Device>& device) {
  const std::vector<AttendingKernel> kernels = attending_kernels(device);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (const std::int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 16}) {
      CAPTURE(group);
      RandomStepOptions options = small_batch(dtype);
      options.num_kv_heads = group == 7 ? 4 : 2;  // 28 query heads on 4
      options.num_query_heads = group * options.num_kv_heads;
      CHECK(refusing(kernels, options) == (dtype == DType::kFloat32 ? kOnTensorCores : kNone));
    }
  }
}

}  // namespace

TEST_SUITE("every kernel that attends") {
  TEST_CASE("heads of 32 to 256 elements are within the bound or refused by name (simulator)") {
    check_head_sizes(simulator_device());
  }
  TEST_CASE("heads of 32 to 256 elements are within the bound or refused by name (GPU)") {
    if (const auto device = gpu_or_skip()) check_head_sizes(device);
  }

  TEST_CASE(
      "K2 and K3: groups of 1 to 8 and 16 heads are within every kernel's bound (simulator)") {
    check_groups(simulator_device());
  }
  TEST_CASE("K2 and K3: groups of 1 to 8 and 16 heads are within every kernel's bound (GPU)") {
    if (const auto device = gpu_or_skip()) check_groups(device);
  }
}
