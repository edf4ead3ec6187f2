// The batch: request boundaries, lengths, the block table, and the slots.

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

// Sizes that block ids and lengths, which are int32, can address; so products fit int64.
void validate_cache_sizes(const KvCacheSpec& spec) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (spec.num_blocks < 0 || spec.num_blocks > kLargest) {
    refuse("the cache has {} blocks, but block ids are int32: 0 to {} blocks are possible.",
           spec.num_blocks, kLargest);
  }
  if (spec.block_size < 1 || spec.block_size > kLargest) {
    refuse("block_size is {}, but a block must hold 1 to {} tokens.", spec.block_size, kLargest);
  }
}

void validate_query_start_loc(const CommonAttentionMetadata& metadata, std::int64_t num_tokens) {
  const std::vector<std::int32_t>& start_loc = metadata.query_start_loc;
  const std::int64_t length = static_cast<std::int64_t>(start_loc.size());
  if (length != metadata.num_reqs() + 1) {
    refuse("query_start_loc has {} entries, but {} requests (the length of seq_lens) need {}.",
           length, metadata.num_reqs(), metadata.num_reqs() + 1);
  }
  if (start_loc[0] != 0) {
    refuse("query_start_loc[0] is {}, but the first request must start at token 0.", start_loc[0]);
  }
  for (std::int64_t index = 1; index < length; ++index) {
    if (start_loc[index] < start_loc[index - 1]) {
      refuse("query_start_loc[{}] is {}, below query_start_loc[{}], which is {}.", index,
             start_loc[index], index - 1, start_loc[index - 1]);
    }
  }
  if (start_loc.back() > num_tokens) {
    refuse("query_start_loc[{}] is {}, but query has only {} tokens.", length - 1, start_loc.back(),
           num_tokens);
  }
}

void validate_lengths(const CommonAttentionMetadata& metadata, AttnType attn_type) {
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = metadata.seq_lens[req_idx];
    const std::int64_t query_len = metadata.query_len(req_idx);
    if (seq_len < 0) refuse("seq_lens[{}] is {}, but a length is at least 0.", req_idx, seq_len);
    if (attn_type == AttnType::kEncoderOnly && seq_len != query_len) {
      refuse(
          "seq_lens[{}] is {}, but request {} has {} query tokens, and an encoder_only request "
          "attends over exactly these.",
          req_idx, seq_len, req_idx, query_len);
    }
  }
}

void validate_table_shape(const CommonAttentionMetadata& metadata) {
  const BlockTable& table = metadata.block_table;
  const std::int64_t length = static_cast<std::int64_t>(table.entries.size());
  if (table.num_reqs != metadata.num_reqs()) {
    refuse("block_table has {} rows, but there are {} requests (the length of seq_lens).",
           table.num_reqs, metadata.num_reqs());
  }
  const bool fits = table.num_reqs == 0 ? length == 0
                                        : length % table.num_reqs == 0 &&
                                              length / table.num_reqs == table.max_blocks_per_req;
  if (!fits || table.max_blocks_per_req < 0) {
    refuse("block_table has shape [{}, {}], but holds {} entries.", table.num_reqs,
           table.max_blocks_per_req, length);
  }
}

// The entries that a request's length needs; what lies behind them may be anything.
void validate_blocks(const CommonAttentionMetadata& metadata, const KvCacheSpec& spec) {
  const BlockTable& table = metadata.block_table;
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = metadata.seq_lens[req_idx];
    const std::int64_t blocks_needed = blocks_for_tokens(seq_len, spec.block_size);
    if (blocks_needed > table.max_blocks_per_req) {
      refuse(
          "seq_lens[{}] is {}, but request {}'s row of the block table has a capacity of {} tokens "
          "({} blocks of {}).",
          req_idx, seq_len, req_idx, table.max_blocks_per_req * spec.block_size,
          table.max_blocks_per_req, spec.block_size);
    }
    for (std::int64_t logical_block = 0; logical_block < blocks_needed; ++logical_block) {
      const std::int32_t physical_block =
          table.entries[req_idx * table.max_blocks_per_req + logical_block];
      const std::int64_t first_position = logical_block * spec.block_size;
      const std::int64_t last_position = std::min(first_position + spec.block_size, seq_len) - 1;
      if (physical_block == kNoBlock) {
        refuse(
            "block_table[{}][{}] is -1 (no block), but request {} needs it for positions {} to {} "
            "(seq_len {}, block_size {}).",
            req_idx, logical_block, req_idx, first_position, last_position, seq_len,
            spec.block_size);
      }
      if (physical_block < 0 || physical_block >= spec.num_blocks) {
        refuse(
            "block_table[{}][{}] is {}, but the cache has {} blocks (request {}, positions {} to "
            "{}, block_size {}).",
            req_idx, logical_block, physical_block, spec.num_blocks, req_idx, first_position,
            last_position, spec.block_size);
      }
    }
  }
}

// Every slot by itself: a slot of the cache, or -1.
void validate_slot_range(const CommonAttentionMetadata& metadata, const KvCacheSpec& spec) {
  const std::int64_t num_slots = spec.num_blocks * spec.block_size;
  const std::int64_t num_tokens = static_cast<std::int64_t>(metadata.slot_mapping.size());
  for (std::int64_t token_idx = 0; token_idx < num_tokens; ++token_idx) {
    const std::int64_t slot = metadata.slot_mapping[token_idx];
    if (slot < kNoSlot) {
      refuse("slot_mapping[{}] is {}, but a slot is at least 0, or -1 to store nothing.", token_idx,
             slot);
    }
    if (slot >= num_slots) {
      refuse("slot_mapping[{}] is {}, but the cache has {} slots ({} blocks of {}).", token_idx,
             slot, num_slots, spec.num_blocks, spec.block_size);
    }
    if (token_idx >= metadata.num_actual_tokens() && slot != kNoSlot) {
      refuse(
          "slot_mapping[{}] is {}, but token {} is padding (the last request ends before token "
          "{}), and padding must have slot -1.",
          token_idx, slot, token_idx, metadata.num_actual_tokens());
    }
  }
}

// Where a decoder's tokens are stored, their sequences must have room for them, and each must lie
// where the block table will look for it.
void validate_slots_agree_with_table(const CommonAttentionMetadata& metadata,
                                     const KvCacheSpec& spec) {
  const std::vector<std::int64_t>& slots = metadata.slot_mapping;
  const bool stores_nothing =
      std::all_of(slots.begin(), slots.end(), [](std::int64_t slot) { return slot == kNoSlot; });
  if (stores_nothing) return;

  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t query_len = metadata.query_len(req_idx);
    const std::int64_t seq_len = metadata.seq_lens[req_idx];
    if (query_len > seq_len) {
      refuse(
          "seq_lens[{}] is {}, but request {} has {} query tokens, and a step that stores tokens "
          "needs queries no longer than their sequences.",
          req_idx, seq_len, req_idx, query_len);
    }
    const std::span<const std::int32_t> row = metadata.block_table.row(req_idx);
    for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
      const std::int64_t token_idx = metadata.query_start_loc[req_idx] + query_idx;
      const std::int64_t position = seq_len - query_len + query_idx;
      const std::int64_t slot = slots[token_idx];
      const std::int64_t slot_in_table = slot_of(row, position, spec.block_size);
      if (slot != kNoSlot && slot != slot_in_table) {
        const std::int64_t logical_block = position / spec.block_size;
        refuse(
            "slot_mapping[{}] is {}, but token {} is position {} of request {}, whose slot is {} "
            "(block_table[{}][{}] is {}, block_size {}).",
            token_idx, slot, token_idx, position, req_idx, slot_in_table, req_idx, logical_block,
            row[logical_block], spec.block_size);
      }
    }
  }
}

void validate_slots_differ(const std::vector<std::int64_t>& slots) {
  std::vector<std::int64_t> by_slot(slots.size());
  std::iota(by_slot.begin(), by_slot.end(), 0);
  std::stable_sort(by_slot.begin(), by_slot.end(),
                   [&](std::int64_t a, std::int64_t b) { return slots[a] < slots[b]; });
  for (std::size_t index = 1; index < by_slot.size(); ++index) {
    const std::int64_t first = by_slot[index - 1];
    const std::int64_t second = by_slot[index];
    if (slots[first] != kNoSlot && slots[first] == slots[second]) {
      refuse("slot_mapping[{}] and slot_mapping[{}] are both {}, but a slot holds one token.",
             first, second, slots[first]);
    }
  }
}

}  // namespace

void validate(const CommonAttentionMetadata& metadata,
              AttnType attn_type,
              std::int64_t num_tokens,
              const KvCacheSpec& spec,
              StepUse use) {
  validate_cache_sizes(spec);
  validate_query_start_loc(metadata, num_tokens);
  validate_lengths(metadata, attn_type);
  validate_table_shape(metadata);
  if (attn_type != AttnType::kEncoderOnly) validate_blocks(metadata, spec);

  const std::int64_t num_slots_given = static_cast<std::int64_t>(metadata.slot_mapping.size());
  if (num_slots_given != num_tokens) {
    refuse("slot_mapping has {} entries, but query has {} tokens.", num_slots_given, num_tokens);
  }
  if (use == StepUse::kAttend) return;
  validate_slot_range(metadata, spec);
  if (attn_type == AttnType::kDecoder) validate_slots_agree_with_table(metadata, spec);
  validate_slots_differ(metadata.slot_mapping);
}

}  // namespace pagelab
