// From the engine to the backend: what prepare_step decides about a batch is what attend_cascade runs.

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/contract/compare.h"
#include "reference/numerics/cascade_bound.h"
#include "reference/registry/reference_backends.h"
#include "simulator/engine/step/prepared_step.h"
#include "tests/gpu/cascade/cascade_runs.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::int64_t kSharedBlocks = 20;  // of 16 tokens

// Eight requests with 320 tokens in common; each has computed a few more, and has 1 to 3 scheduled.
std::vector<StepRequest> requests_of_the_engine() {
  std::vector<StepRequest> requests;
  std::int32_t next_block = 1 + static_cast<std::int32_t>(kSharedBlocks);
  for (std::int64_t req_idx = 0; req_idx < 8; ++req_idx) {
    StepRequest request;
    request.scheduled = {.num_scheduled_tokens = 1 + req_idx % 3,
                         .num_computed_tokens = 320 + 7 * req_idx,
                         .num_prompt_tokens = 320};
    for (std::int32_t block = 1; block <= kSharedBlocks; ++block)
      request.block_ids.push_back(block);
    while (static_cast<std::int64_t>(request.block_ids.size()) * 16 < request.scheduled.seq_len()) {
      request.block_ids.push_back(next_block++);
    }
    requests.push_back(request);
  }
  return requests;
}

Tensor random_numbers(const Shape& shape, Random& random) {
  Tensor tensor(DType::kFloat32, shape);
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    tensor.data<float>()[index] = static_cast<float>(random.real(-1.5, 1.5));
  }
  return convert(tensor, DType::kBFloat16);
}

// The batch as a step of a layer with 4 query and 2 KV heads of 32.
AttentionStep step_of(const CommonAttentionMetadata& metadata) {
  Random random(11);
  const auto num_tokens = static_cast<std::int64_t>(metadata.slot_mapping.size());
  AttentionStep step;
  step.query = random_numbers({num_tokens, 4, 32}, random);
  step.key = random_numbers({num_tokens, 2, 32}, random);
  step.value = random_numbers({num_tokens, 2, 32}, random);
  const KvCacheSpec spec = {.num_blocks = 60,
                            .block_size = 16,
                            .num_kv_heads = 2,
                            .head_size = 32,
                            .head_size_v = 32,
                            .dtype = DType::kBFloat16};
  step.cache = KvCache(spec);
  step.cache.assign(random_numbers({60, 16, 2, 32}, random),
                    random_numbers({60, 16, 2, 32}, random));
  step.metadata = metadata;
  step.variant.scale = 0.17;
  return step;
}

}  // namespace

TEST_SUITE("cascade attention on devices") {
  TEST_CASE("a step that the engine prepares for a cascade runs as one and within the bound") {
    const CudagraphDispatcher dispatcher({.capture_sizes = {16, 32}, .max_num_seqs = 8});
    // C3: the scheduler counts references, and here two blocks too many.
    const SharedPrefix counted = {kSharedBlocks + 2, {.num_query_heads = 4, .num_kv_heads = 2}};
    const PreparedStep prepared =
        prepare_step(requests_of_the_engine(), {.block_size = 16}, dispatcher, counted);
    CHECK(prepared.cascade_prefix_len == 320);
    CHECK(prepared.dispatch.mode == CUDAGraphMode::kPiecewise);  // never FULL
    CHECK(prepared.step.metadata.slot_mapping.size() == 16);  // 1 + 2 + 3 + 1 + 2 + 3 + 1 + 2 = 15

    const AttentionStep step = step_of(prepared.step.metadata);
    const std::int64_t num_blocks = prepared.cascade_prefix_len / 16;
    const AttentionResult expected = attend(step, *make_reference_backend());
    AttentionStep stored = step;
    stored.cache = expected.cache;
    std::vector<std::unique_ptr<AttentionBackend>> backends;
    backends.push_back(make_reference_float_backend());
    for (const CascadingBackend& backend : cascading_backends()) {
      backends.push_back(backend.on(simulator_device()));
    }
    for (const auto& backend : backends) {
      CAPTURE(backend->name());
      const AttentionResult got = attend_cascade(step, num_blocks, *backend);
      const ErrorBound bound =
          cascade_error_bound(stored, num_blocks, backend->cascade_precision(stored, num_blocks));
      const Comparison output = compare_within(got.output, expected.output, bound.output);
      const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
      CHECK_MESSAGE(output.agrees(), to_string(output));
      CHECK_MESSAGE(lse.agrees(), to_string(lse));
    }
  }
}
