// TRITON_ATTN: which form of the kernel it takes when, and that each is within the bound of REFERENCE.

#include <doctest/doctest.h>

#include "gpu/backends/kernel_impl.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "gpu/backends/triton_attn.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr TritonAttnOptions kByTheBatch = {.batch_invariant = false};

AttentionStep decodes(std::int64_t num_reqs, std::int64_t num_kv_heads) {
  RandomStepOptions options;
  options.kind = BatchKind::kDecode;
  options.num_reqs = num_reqs;
  options.num_kv_heads = options.num_query_heads = num_kv_heads;
  options.head_size = options.head_size_v = 2;
  options.max_seq_len = 5;
  return random_step(options, 81);
}

// A decode alone and one among prefills have other bits by vLLM's rule, and the same ones without it.
void check_forms(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.requests = {{1, 300}, {1, 40}};
  const AttentionStep step = random_step(options, 82);
  const KernelSet kernels = kernels_of(*device);
  const auto invariant = make_triton_attn_backend(device);
  const auto by_the_batch = make_triton_attn_backend(device, kByTheBatch);
  check_same_bits(attend(step, *invariant),
                  attend(step, *make_backend_of_rung(device, kernels.unified[0])));
  check_same_bits(attend(step, *by_the_batch),
                  attend(step, *make_backend_of_rung(device, kernels.unified[1])));
  CHECK(!identical(attend(step, *by_the_batch).output, attend(step, *invariant).output));
  options.requests = {{1, 300}, {2, 40}};
  const AttentionStep mixed = random_step(options, 82);
  check_same_bits(attend(mixed, *by_the_batch), attend(mixed, *invariant));
}

void check_all(const std::shared_ptr<Device>& device) {
  check_forms(device);
  for (const TritonAttnOptions& options : {TritonAttnOptions{}, kByTheBatch}) {
    const auto backend = make_triton_attn_backend(device, options);
    check_golden_steps(*backend);
    std::vector<AttentionCase> decode_cases;
    for (AttentionCase attention_case : attention_cases(9600)) {
      if (attention_case.seed % 5 != 0) continue;
      attention_case.options.kind = BatchKind::kDecode;
      decode_cases.push_back(attention_case);
    }
    check_cases(decode_cases, *backend).print("TRITON_ATTN", *device);
  }
}

}  // namespace

TEST_SUITE("TRITON_ATTN") {
  TEST_CASE("a batch is segmented where it has decodes alone and no more than 128 a KV head") {
    CHECK(takes_segmented_form(launch_shape_of(decodes(3, 2).metadata), 2));
    CHECK(takes_segmented_form(launch_shape_of(decodes(64, 2).metadata), 2));
    CHECK_FALSE(takes_segmented_form(launch_shape_of(decodes(65, 2).metadata), 2));
    CHECK(takes_segmented_form(launch_shape_of(decodes(42, 3).metadata), 3));  // 128 / 3 is 42
    CHECK_FALSE(takes_segmented_form(launch_shape_of(decodes(43, 3).metadata), 3));
    CommonAttentionMetadata mixed = decodes(3, 2).metadata;
    mixed.query_start_loc = {0, 1, 3, 4};
    CHECK_FALSE(takes_segmented_form(launch_shape_of(mixed), 2));
  }

  TEST_CASE("both forms of TRITON_ATTN are what they claim and within the bound (simulator)") {
    check_all(simulator_device());
  }
  TEST_CASE("both forms of TRITON_ATTN are what they claim and within the bound (GPU)") {
    if (const auto device = gpu_or_skip()) check_all(device);
  }
}
