// Lesson 03, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "lessons/03_the_contract/batch.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_03 {

using lessons::NotSolved;

inline std::vector<std::int32_t> query_start_loc_of(const std::vector<ScheduledRequest>& requests) {
  // Only this step's tokens are in the batch; the computed ones are in the cache.
  std::vector<std::int32_t> query_start_loc = {0};
  for (const ScheduledRequest& request : requests) {
    query_start_loc.push_back(query_start_loc.back() + request.num_scheduled_tokens);
  }
  return query_start_loc;
}

inline std::vector<std::int32_t> seq_lens_of(const std::vector<ScheduledRequest>& requests) {
  std::vector<std::int32_t> seq_lens;
  for (const ScheduledRequest& request : requests) {
    // A token attends to itself too, so this step's tokens count.
    seq_lens.push_back(request.num_computed_tokens + request.num_scheduled_tokens);
  }
  return seq_lens;
}

inline std::vector<std::int64_t> slot_mapping_of(const std::vector<ScheduledRequest>& requests,
                                                 std::int64_t block_size,
                                                 std::int64_t num_tokens) {
  std::vector<std::int64_t> slot_mapping;
  for (const ScheduledRequest& request : requests) {
    for (std::int64_t i = 0; i < request.num_scheduled_tokens; ++i) {
      // Positions count within the request: token_idx says nothing about them.
      const std::int64_t position = request.num_computed_tokens + i;
      slot_mapping.push_back(slot_of(request.blocks, position, block_size));
    }
  }
  // Padding must be kNoSlot: slot 0 would be the first token of whoever has block 0.
  slot_mapping.resize(static_cast<std::size_t>(num_tokens), kNoSlot);
  return slot_mapping;
}

inline CommonAttentionMetadata build_metadata(const std::vector<ScheduledRequest>& requests,
                                              std::int64_t block_size,
                                              std::int64_t num_tokens) {
  std::vector<std::vector<std::int32_t>> rows;
  for (const ScheduledRequest& request : requests) rows.push_back(request.blocks);

  CommonAttentionMetadata metadata;
  metadata.query_start_loc = query_start_loc_of(requests);
  metadata.seq_lens = seq_lens_of(requests);
  metadata.block_table = BlockTable::from_rows(rows);  // fills short rows up with kNoBlock
  metadata.slot_mapping = slot_mapping_of(requests, block_size, num_tokens);
  return metadata;
}

inline Mistake find_mistake(const CommonAttentionMetadata& metadata,
                            std::int64_t num_blocks,
                            std::int64_t block_size) {
  const std::int64_t num_reqs = metadata.num_reqs();
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    if (metadata.query_len(req_idx) < 0) return Mistake::kStartsDecrease;
  }
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    if (metadata.query_len(req_idx) > metadata.seq_lens[req_idx]) {
      return Mistake::kQueryExceedsSequence;
    }
  }
  const std::int64_t capacity = metadata.block_table.max_blocks_per_req * block_size;
  for (std::int32_t seq_len : metadata.seq_lens) {
    if (seq_len > capacity) return Mistake::kLengthExceedsTable;
  }
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    // Only as far as the length reaches: what follows in the row is never read.
    const std::int64_t needed = blocks_for_tokens(metadata.seq_lens[req_idx], block_size);
    for (std::int32_t block : metadata.block_table.row(req_idx).first(needed)) {
      if (block < 0 || block >= num_blocks) return Mistake::kBlockOutsidePool;
    }
  }
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    const std::int64_t query_len = metadata.query_len(req_idx);
    for (std::int64_t i = 0; i < query_len; ++i) {
      const std::int64_t position = metadata.seq_lens[req_idx] - query_len + i;
      const std::int64_t slot = metadata.slot_mapping[metadata.query_start_loc[req_idx] + i];
      // Not storing a token is legal: its key may be there already, shared with another request.
      if (slot == kNoSlot) continue;
      if (slot != slot_of(metadata.block_table.row(req_idx), position, block_size)) {
        return Mistake::kSlotDisagrees;
      }
    }
  }
  const std::vector<std::int64_t>& slots = metadata.slot_mapping;
  for (std::size_t token_idx = metadata.num_actual_tokens(); token_idx < slots.size();
       ++token_idx) {
    if (slots[token_idx] != kNoSlot) return Mistake::kPaddingIsStored;
  }
  std::set<std::int64_t> taken;
  for (std::int64_t slot : slots) {
    if (slot != kNoSlot && !taken.insert(slot).second) return Mistake::kSlotTwice;
  }
  return Mistake::kNone;
}

}  // namespace pagelab::lesson_03
