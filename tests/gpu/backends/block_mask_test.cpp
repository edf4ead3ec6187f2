// The metadata of FLEX_ATTENTION: the inverse block table and the lists of blocks, by hand and by their rules.

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/backends/flex_block_mask.h"
#include "gpu/kernels/flex/params.h"
#include "reference/contract/error.h"
#include "tests/cases/attention_cases.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using Numbers = std::vector<std::int32_t>;

CommonAttentionMetadata batch_of(const Numbers& query_start_loc,
                                 const Numbers& seq_lens,
                                 std::int64_t max_blocks,
                                 const Numbers& blocks) {
  CommonAttentionMetadata metadata;
  metadata.query_start_loc = query_start_loc;
  metadata.seq_lens = seq_lens;
  metadata.block_table = BlockTable::unused(metadata.num_reqs(), max_blocks);
  metadata.block_table.entries = blocks;
  return metadata;
}

bool causal(const FlexPair& pair) { return pair.key_position <= pair.query_position; }

// The rules of a block mask, for a step of the table.
void check_rules(const AttentionStep& step) {
  const CommonAttentionMetadata& metadata = step.metadata;
  const KvCacheSpec& spec = step.cache.spec();
  const auto& ranges = step.variant.mm_prefix_ranges;
  const VariantMask mask = {step.variant.visibility, ranges.data(),
                            static_cast<std::int64_t>(ranges.size())};
  const Numbers inverse = physical_to_logical(metadata, spec.block_size, spec.num_blocks);
  const BlockMask lists =
      build_block_mask(metadata, step.num_tokens(), 1, spec.block_size, spec.num_blocks, mask);
  CHECK(lists.group_start.back() == step.num_tokens());
  for (std::int64_t group = 0; group < lists.num_groups(); ++group) {
    const std::size_t at = static_cast<std::size_t>(group);
    const auto first = lists.kv_indices.begin() + group * lists.max_blocks_per_group;
    const Numbers list(first, first + lists.kv_num_blocks[at]);
    CHECK(lists.group_start[at + 1] - lists.group_start[at] <= kFlexRows);
    Numbers seen;
    for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
      const std::int64_t end = metadata.query_start_loc[static_cast<std::size_t>(req_idx) + 1];
      for (std::int64_t token = lists.group_start[at]; token < lists.group_start[at + 1]; ++token) {
        if (token < metadata.query_start_loc[static_cast<std::size_t>(req_idx)] || token >= end) {
          continue;
        }
        const std::int64_t seq_len = metadata.seq_lens[static_cast<std::size_t>(req_idx)];
        std::int64_t last_place = -1;
        for (std::int64_t key = 0; key < seq_len; ++key) {
          if (!mask({req_idx, 0, seq_len - (end - token), key})) continue;
          const std::int32_t block =
              metadata.block_table.row(req_idx)[static_cast<std::size_t>(key / spec.block_size)];
          CHECK(inverse[static_cast<std::size_t>(req_idx * spec.num_blocks + block)] ==
                key / spec.block_size);
          const auto place = std::find(list.begin(), list.end(), block) - list.begin();
          CHECK(place < static_cast<std::int64_t>(list.size()));
          CHECK(place >= last_place);  // in the row's own logical order
          last_place = place;
          seen.push_back(block);
        }
      }
    }
    for (const std::int32_t block : list) {
      CHECK(std::count(list.begin(), list.end(), block) == 1);
      CHECK(std::count(seen.begin(), seen.end(), block) > 0);
    }
  }
}

}  // namespace

TEST_SUITE("block mask") {
  TEST_CASE("a decode and a prefill share a group whose list holds the blocks of both") {
    // The example of gpu/kernels/flex/params.h.
    const CommonAttentionMetadata batch = batch_of({0, 1, 4}, {6, 3}, 2, {2, 0, 3, 99});
    CHECK(physical_to_logical(batch, 4, 4) == Numbers{1, -1, 0, -1, -1, -1, -1, 0});
    const BlockMask mask = build_block_mask(batch, 4, 1, 4, 4, causal);
    CHECK(mask.group_start == Numbers{0, 4});
    CHECK(mask.kv_num_blocks == Numbers{3});
    CHECK(mask.kv_indices == Numbers{2, 0, 3});
  }

  TEST_CASE("blocks of the future and blocks outside the window are not listed") {
    // 20 tokens in 5 blocks of 4: rows 0 to 15 end in block 3, rows 16 to 19 in block 4.
    const CommonAttentionMetadata batch = batch_of({0, 20}, {20}, 5, {8, 6, 4, 2, 0});
    const BlockMask mask = build_block_mask(batch, 20, 1, 4, 9, causal);
    CHECK(mask.group_start == Numbers{0, 16, 20});
    CHECK(mask.kv_num_blocks == Numbers{4, 5});
    CHECK(mask.kv_indices == Numbers{8, 6, 4, 2, -1, 8, 6, 4, 2, 0});
    const auto window_of_three = [](const FlexPair& pair) {
      return causal(pair) && pair.query_position - pair.key_position < 3;
    };
    const BlockMask windowed = build_block_mask(batch, 20, 1, 4, 9, window_of_three);
    CHECK(windowed.kv_num_blocks == Numbers{4, 2});
    CHECK(windowed.kv_indices == Numbers{8, 6, 4, 2, 2, 0, -1, -1});
  }

  TEST_CASE("a future block that a prefix range shows is listed though causality hides it") {
    // The last 20 of 24 tokens; group 0 has the rows of positions 4 to 19, block 5 those of 20 to 23.
    const CommonAttentionMetadata batch = batch_of({0, 20}, {24}, 6, {9, 8, 7, 6, 5, 4});
    CHECK(build_block_mask(batch, 20, 1, 4, 10, causal).kv_num_blocks == Numbers{5, 6});
    const MmPrefixRange range = {0, 18, 20};
    const BlockMask with_range = build_block_mask(batch, 20, 1, 4, 10, VariantMask{{}, &range, 1});
    CHECK(with_range.kv_num_blocks == Numbers{6, 6});
    CHECK(with_range.kv_indices == Numbers{9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4});
  }

  TEST_CASE("common blocks are listed once and in another order they begin a group") {
    const CommonAttentionMetadata prefix = batch_of({0, 1, 2}, {3, 4}, 2, {5, 1, 5, 2});
    const BlockMask shared = build_block_mask(prefix, 2, 1, 2, 6, causal);
    CHECK(shared.group_start == Numbers{0, 2});
    CHECK(shared.kv_indices == Numbers{5, 1, 2});
    const CommonAttentionMetadata crossed = batch_of({0, 1, 2}, {3, 4}, 2, {5, 1, 1, 5});
    const BlockMask apart = build_block_mask(crossed, 2, 1, 2, 6, causal);
    CHECK(apart.group_start == Numbers{0, 1, 2});
    CHECK(apart.kv_indices == Numbers{5, 1, 1, 5});
  }

  TEST_CASE("padding rows have groups and visit nothing") {
    const CommonAttentionMetadata batch = batch_of({0, 1}, {2}, 1, {0});
    const BlockMask mask = build_block_mask(batch, 18, 1, 2, 1, causal);
    CHECK(mask.group_start == Numbers{0, 16, 18});
    CHECK(mask.kv_num_blocks == Numbers{1, 0});
    CHECK(build_block_mask(batch_of({0}, {}, 0, {}), 0, 1, 2, 1, causal).num_groups() == 0);
  }

  TEST_CASE("a request that has a block twice is refused by name") {
    const CommonAttentionMetadata batch = batch_of({0, 1, 2}, {1, 6}, 3, {0, -1, -1, 4, 2, 4});
    CHECK_THROWS_WITH_AS(physical_to_logical(batch, 2, 5),
                         "FLEX_ATTENTION: block_table[1][0] and block_table[1][2] are both 4, but "
                         "its inverse has room for one logical block a physical one. NAIVE takes "
                         "such tables.",
                         Error);
    // What the sequence does not fill is not read.
    CommonAttentionMetadata shorter = batch;
    shorter.seq_lens[1] = 4;
    CHECK(physical_to_logical(shorter, 2, 5) == Numbers{0, -1, -1, -1, -1, -1, -1, 1, -1, 0});
  }

  TEST_CASE("every list of the table of cases holds what its rows see and in their order") {
    for (const AttentionCase& attention_case : attention_cases(9300)) {
      if (attention_case.options.attn_type == AttnType::kEncoderOnly) continue;
      CAPTURE(attention_case.name);
      check_rules(attention_case.step());
    }
  }
}
