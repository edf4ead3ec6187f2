#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "simulator/engine/step/prepared_step.h"
#include "simulator/engine/step/request_rows.h"
#include "simulator/engine/step/step_builder.h"

using namespace pagelab;

namespace {

using Ids = std::vector<std::int32_t>;
using Slots = std::vector<std::int64_t>;

StepRequest request_of(std::int64_t scheduled, std::int64_t computed, const Ids& block_ids) {
  return {{.num_scheduled_tokens = scheduled, .num_computed_tokens = computed}, block_ids};
}

// Three decodes with 4, 9 and 2 tokens in blocks of 4.
std::vector<StepRequest> three_decodes() {
  return {request_of(1, 3, {7}), request_of(1, 8, {2, 5, 3}), request_of(1, 1, {4})};
}

const StepLayout kBlocksOf4 = {.block_size = 4};

}  // namespace

TEST_SUITE("step builder") {
  TEST_CASE("U4: three requests padded to four are three unchanged rows and an empty one") {
    const BuiltStep plain = build_step(three_decodes(), kBlocksOf4);
    const BuiltStep padded = build_step(three_decodes(), kBlocksOf4, PaddedShape{4, 4});
    CHECK(padded.metadata.query_start_loc == Ids{0, 1, 2, 3, 3});
    CHECK(padded.metadata.seq_lens == Ids{4, 9, 2, 0});
    CHECK(padded.metadata.slot_mapping == Slots{7 * 4 + 3, 3 * 4 + 0, 4 * 4 + 1, kNoSlot});
    CHECK(padded.metadata.block_table.entries == Ids{7, 0, 0, 2, 5, 3, 4, 0, 0, 0, 0, 0});
    CHECK(padded.positions == Slots{3, 8, 1});
    CHECK(padded.rows().size() == 4);

    CHECK(plain.metadata.seq_lens == Ids{4, 9, 2});
    CHECK(plain.metadata.block_table.entries == Ids{7, 0, 0, 2, 5, 3, 4, 0, 0});
    CHECK(plain.metadata.slot_mapping == Slots{31, 12, 17});
  }

  TEST_CASE("U5: a padded row is as long as the backend asks") {
    const StepLayout layout = {.block_size = 4, .padding_seq_len = 1};
    const BuiltStep step = build_step(three_decodes(), layout, PaddedShape{4, 5});
    CHECK(step.metadata.seq_lens == Ids{4, 9, 2, 1, 1});
    CHECK(step.metadata.query_start_loc == Ids{0, 1, 2, 3, 3, 3});
    CHECK(step.positions.size() == 3);
    CHECK(step.metadata.slot_mapping.back() == kNoSlot);
  }

  TEST_CASE("E9: a chunk's keys end where the chunk ends") {
    std::vector<std::int32_t> lengths;
    std::int64_t computed = 0;
    for (const std::int64_t chunk : {4, 4, 2}) {
      const BuiltStep step = build_step({request_of(chunk, computed, {6, 1, 9})}, kBlocksOf4);
      lengths.push_back(step.metadata.seq_lens[0]);
      computed += chunk;
    }
    CHECK(lengths == Ids{4, 8, 10});
  }

  TEST_CASE("E10: a resumed request's blocks replace the old ones") {
    RequestRows rows;
    rows.replace(5, Ids{1, 2});
    rows.append(5, Ids{3});
    CHECK(rows.row(5) == Ids{1, 2, 3});
    rows.replace(5, Ids{9, 10, 11});
    CHECK(rows.row(5) == Ids{9, 10, 11});
    rows.remove(5);
    CHECK_THROWS_WITH_AS(rows.append(5, Ids{12}),
                         "request 5 gets 1 more blocks, but the worker does not know it. Was it "
                         "announced as new?",
                         Error);
    CHECK_THROWS_AS(rows.remove(5), Error);
    CHECK_THROWS_AS(rows.row(5), Error);
  }

  TEST_CASE("E12: speculative tokens go where the block table says") {
    const BuiltStep step = build_step({request_of(2, 2, {4, 9, 2, 7})}, {.block_size = 1});
    CHECK(step.metadata.slot_mapping == Slots{2, 7});
  }

  TEST_CASE("a table has columns for a multiple of 128 tokens") {
    CHECK(block_table_columns(1000, 16) == 64);  // 63 blocks hold 1008 tokens, 64 hold 8 · 128
    CHECK(block_table_columns(1024, 16) == 64);
    CHECK(block_table_columns(100, 256) == 1);
    CHECK_THROWS_AS(block_table_columns(0, 16), Error);
  }

  TEST_CASE("tokens without a block of their own are refused") {
    CHECK_THROWS_WITH_AS(
        build_step({request_of(2, 3, {7})}, kBlocksOf4),
        "request 0 has 5 tokens after this step, which need 2 blocks of 4, but it has "
        "1.",
        Error);
    CHECK_THROWS_WITH_AS(
        build_step({request_of(1, 4, {7, 0})}, kBlocksOf4),
        "logical block 1 of request 0 is 0, but this step stores tokens there; only "
        "blocks from 1 on belong to requests.",
        Error);
    // What a window has dropped is not needed any more.
    CHECK_NOTHROW(build_step({request_of(1, 4, {0, 7})}, kBlocksOf4));
  }

  TEST_CASE("a step that does not fit its padding or its table is refused") {
    CHECK_THROWS_WITH_AS(build_step(three_decodes(), kBlocksOf4, PaddedShape{2, 4}),
                         "a step of 3 requests and 3 tokens does not fit 4 requests and 2 tokens.",
                         Error);
    CHECK_THROWS_WITH_AS(build_step(three_decodes(), {.block_size = 4, .max_blocks_per_req = 2}),
                         "request 1 has 3 blocks, but block_table has 2 columns.", Error);
    CHECK_THROWS_WITH_AS(build_step(three_decodes(), kBlocksOf4, PaddedShape{4, 1'000'001}),
                         "the padded num_reqs is 1000001; it must be at most 1000000.", Error);
    CHECK_THROWS_WITH_AS(build_step(three_decodes(), {.block_size = 0}),
                         "block_size is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(build_step(three_decodes(), {.padding_seq_len = -1}),
                         "padding_seq_len is -1; it must be at least 0.", Error);
  }
}

TEST_SUITE("prepared step") {
  TEST_CASE("a full graph pads requests and tokens and a piecewise one tokens alone") {
    const CudagraphDispatcher dispatcher({.capture_sizes = {4, 8}, .max_num_seqs = 8});
    const PreparedStep decodes = prepare_step(three_decodes(), kBlocksOf4, dispatcher);
    CHECK(decodes.dispatch.mode == CUDAGraphMode::kFull);
    CHECK(decodes.step.metadata.num_reqs() == 4);
    CHECK(decodes.step.metadata.slot_mapping.size() == 4);

    std::vector<StepRequest> mixed = three_decodes();
    mixed[2] = request_of(3, 1, {4});
    const PreparedStep chunked = prepare_step(mixed, kBlocksOf4, dispatcher);
    CHECK(chunked.dispatch.mode == CUDAGraphMode::kPiecewise);
    CHECK(chunked.step.metadata.num_reqs() == 3);
    CHECK(chunked.step.metadata.slot_mapping.size() == 8);
  }

  TEST_CASE("the second runner sorts drafts and decodes to the front and pads to its graph") {
    const CudaGraphManager manager(
        {.capture_sizes = {4, 8, 16}, .decode_query_len = 2, .max_num_seqs = 8});
    std::vector<StepRequest> requests = {request_of(5, 0, {7, 8}), request_of(2, 8, {2, 5, 3}),
                                         request_of(1, 1, {4}), request_of(2, 1, {6})};
    requests[3].scheduled.num_draft_tokens = 1;
    const SortedStep mixed = prepare_sorted_step(requests, kBlocksOf4, manager);
    CHECK(mixed.order == Slots{3, 1, 2, 0});
    CHECK(to_string(mixed.dispatch) == "PIECEWISE: 16 tokens");
    CHECK(mixed.step.metadata.query_start_loc == Ids{0, 2, 4, 5, 10});
    CHECK(mixed.step.metadata.slot_mapping.size() == 16);

    // Three decodes of two tokens make six, and eight are recorded: four decodes.
    const SortedStep decodes =
        prepare_sorted_step({requests[3], requests[1], request_of(2, 2, {9})}, kBlocksOf4, manager);
    CHECK(to_string(decodes.dispatch) == "FULL: 8 tokens, 4 requests of 2");
    CHECK(decodes.step.metadata.query_start_loc == Ids{0, 2, 4, 6, 6});
  }

  TEST_CASE("C3: a prefix that only the reference counts share is not used") {
    // Eight requests whose first 64 blocks are the same, or all different.
    const auto batch = [](bool is_shared) {
      std::vector<StepRequest> requests;
      for (std::int32_t req_idx = 0; req_idx < 8; ++req_idx) {
        Ids block_ids;
        for (std::int32_t block = 0; block < 64; ++block) {
          block_ids.push_back(1 + block + (is_shared ? 0 : 64 * req_idx));
        }
        block_ids.push_back(1000 + req_idx);
        requests.push_back(request_of(2, 1024, block_ids));
      }
      return requests;
    };
    const CudagraphDispatcher dispatcher(
        {.capture_sizes = {16}, .uniform_decode_query_len = 2, .max_num_seqs = 8});
    const SharedPrefix counted = {64, {.num_query_heads = 32, .num_kv_heads = 8}};
    const PreparedStep shared = prepare_step(batch(true), {}, dispatcher, counted);
    CHECK(shared.cascade_prefix_len == 1024);
    CHECK(shared.dispatch.mode == CUDAGraphMode::kPiecewise);

    const PreparedStep unrelated = prepare_step(batch(false), {}, dispatcher, counted);
    CHECK(unrelated.cascade_prefix_len == 0);
    CHECK(unrelated.dispatch.mode == CUDAGraphMode::kFull);
  }

  TEST_CASE("a batch of more requests than graphs were recorded for is refused") {
    const CudagraphDispatcher dispatcher({.capture_sizes = {4}, .max_num_seqs = 2});
    CHECK_THROWS_WITH_AS(prepare_step(three_decodes(), kBlocksOf4, dispatcher),
                         "the batch has 3 requests, but graphs were recorded for at most 2.",
                         Error);
  }
}
