// The traps U1, U3 and U4 where they can be met without a GPU: a "recording" here is a function that remembers the
// size it was recorded for, and reads everything else from the buffers when it is replayed.

#include "simulator/engine/step/step_buffers.h"

#include <doctest/doctest.h>

#include "reference/attention/paged.h"
#include "reference/contract/error.h"

using namespace pagelab;

namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int32_t kBlocksPerRequest = 4;

// Decodes of sequences of these lengths, each in four blocks of its own.
BuiltStep decodes_of(const std::vector<std::int64_t>& seq_lens, const PaddedShape& padding) {
  std::vector<StepRequest> requests;
  std::int32_t next_block = 1;
  for (const std::int64_t seq_len : seq_lens) {
    StepRequest request = {{.num_scheduled_tokens = 1, .num_computed_tokens = seq_len - 1}, {}};
    for (std::int32_t block = 0; block < kBlocksPerRequest; ++block) {
      request.block_ids.push_back(next_block++);
    }
    requests.push_back(request);
  }
  return build_step(requests, {.block_size = kBlockSize}, padding);
}

// A cache in which the value at position j is j, and all keys are 0, for so many requests as above.
KvCache counting_cache(std::int64_t num_reqs) {
  KvCache cache({.num_blocks = 1 + num_reqs * kBlocksPerRequest,
                 .block_size = kBlockSize,
                 .num_kv_heads = 1,
                 .head_size = 1,
                 .head_size_v = 1,
                 .dtype = DType::kFloat64});
  const auto keys = cache.key_view<double>();
  const auto values = cache.value_view<double>();
  for (std::int64_t slot = kBlockSize; slot < cache.spec().num_blocks * kBlockSize; ++slot) {
    const std::int64_t position = (slot - kBlockSize) % (kBlocksPerRequest * kBlockSize);
    keys(slot / kBlockSize, slot % kBlockSize, 0, 0) = 0.0;
    values(slot / kBlockSize, slot % kBlockSize, 0, 0) = static_cast<double>(position);
  }
  return cache;
}

// What a graph computes that was recorded for this shape: with queries of 0, the mean of each sequence's values.
std::vector<double> replay(const StepBuffers& buffers, const PaddedShape& recorded) {
  AttentionStep step;
  step.metadata = buffers.read(recorded);
  step.query = Tensor(DType::kFloat64, {recorded.num_tokens, 1, 1});
  step.key = Tensor(DType::kFloat64, {recorded.num_tokens, 1, 1});
  step.value = Tensor(DType::kFloat64, {recorded.num_tokens, 1, 1});
  step.cache = counting_cache(recorded.num_reqs);
  Tensor output;
  Tensor lse;
  paged_attention_in_place<double>(step, output, lse);
  return {output.data<double>(), output.data<double>() + output.size()};
}

}  // namespace

TEST_SUITE("step buffers") {
  TEST_CASE("U1: a replay sees the lengths of its own step and not of the recording") {
    const PaddedShape recorded = {3, 3};
    StepBuffers buffers({4, 4, kBlocksPerRequest});
    buffers.update(decodes_of({64, 1, 1}, recorded));
    CHECK(replay(buffers, recorded) == std::vector<double>{31.5, 0.0, 0.0});
    buffers.update(decodes_of({64, 50, 40}, recorded));
    CHECK(replay(buffers, recorded) == std::vector<double>{31.5, 24.5, 19.5});
  }

  TEST_CASE("U3: a replay with a longer sequence than the recording's is not cut") {
    const PaddedShape recorded = {1, 1};
    StepBuffers buffers({4, 4, kBlocksPerRequest});
    buffers.update(decodes_of({32}, recorded));
    CHECK(replay(buffers, recorded) == std::vector<double>{15.5});
    buffers.update(decodes_of({48}, recorded));
    CHECK(replay(buffers, recorded) == std::vector<double>{23.5});
  }

  TEST_CASE("U4: a smaller step leaves nothing of the larger one before it") {
    const PaddedShape recorded = {4, 4};
    StepBuffers buffers({4, 4, kBlocksPerRequest, 0});
    buffers.update(decodes_of({64, 50, 40, 30}, recorded));
    const std::int32_t* const seq_lens = buffers.seq_lens();
    const std::int64_t* const slots = buffers.slot_mapping();
    buffers.update(decodes_of({64, 50}, {2, 2}));
    // The graph for four requests reads two empty rows.
    CHECK(replay(buffers, recorded) == std::vector<double>{31.5, 24.5, 0.0, 0.0});
    CHECK(buffers.read(recorded).slot_mapping[2] == kNoSlot);
    CHECK(buffers.read(recorded).block_table.row(2)[0] == kNullBlock);
    CHECK(buffers.read(recorded).query_start_loc == std::vector<std::int32_t>{0, 1, 2, 2, 2});
    // And it finds all of it where it was.
    CHECK(buffers.seq_lens() == seq_lens);
    CHECK(buffers.slot_mapping() == slots);
  }

  TEST_CASE("a step that does not fit is refused and nothing is written") {
    StepBuffers buffers({4, 4, kBlocksPerRequest});
    buffers.update(decodes_of({9}, {1, 1}));
    CHECK_THROWS_WITH_AS(
        buffers.update(decodes_of({1, 1, 1}, {3, 5})),
        "a step of 5 requests, 3 tokens and 4 columns does not fit buffers of 4, 4 "
        "and 4.",
        Error);
    CHECK(buffers.read({1, 1}).seq_lens == std::vector<std::int32_t>{9});
    CHECK_THROWS_WITH_AS(buffers.read({5, 4}), "num_tokens is 5; it must be at most 4.", Error);
    CHECK_THROWS_WITH_AS(StepBuffers({0, 4, 4}), "max_num_tokens is 0; it must be at least 1.",
                         Error);
  }
}
