#include "reference/cache/slot_mapping.h"

#include <fmt/format.h>

#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

void require_sound(const ContextParallel& parallel) {
  if (parallel.world_size < 1) {
    refuse("world_size is {}; it must be at least 1.", parallel.world_size);
  }
  if (parallel.rank < 0 || parallel.rank >= parallel.world_size) {
    refuse("rank is {}, but there are {} ranks.",  //
           parallel.rank, parallel.world_size);
  }
  if (parallel.interleave < 1) {
    refuse("interleave is {}; it must be at least 1.", parallel.interleave);
  }
}

void require_sound(std::span<const std::int32_t> query_start_loc,
                   std::span<const std::int32_t> seq_lens) {
  if (query_start_loc.size() != seq_lens.size() + 1) {
    refuse("query_start_loc has {} entries, but {} requests need {}.", query_start_loc.size(),
           seq_lens.size(), seq_lens.size() + 1);
  }
  if (query_start_loc[0] != 0) {
    refuse("query_start_loc[0] is {}; it must be 0.", query_start_loc[0]);
  }
  for (std::size_t req_idx = 0; req_idx < seq_lens.size(); ++req_idx) {
    const std::int64_t begin = query_start_loc[req_idx];
    const std::int64_t end = query_start_loc[req_idx + 1];
    if (end < begin) {
      refuse("query_start_loc[{}] is {}, less than the {} before it.", req_idx + 1, end, begin);
    }
    if (end - begin > seq_lens[req_idx]) {
      refuse("request {} has {} query tokens, but seq_lens[{}] is {}.", req_idx, end - begin,
             req_idx, seq_lens[req_idx]);
    }
  }
}

void require_block(std::span<const std::int32_t> row,
                   std::int64_t logical_block,
                   std::int64_t req_idx,
                   std::int64_t position) {
  if (logical_block >= static_cast<std::int64_t>(row.size())) {
    throw Error(
        fmt::format("request {} needs logical block {} for token {}, but block_table has "
                    "{} columns.",
                    req_idx, logical_block, position, row.size()));
  }
  if (row[static_cast<std::size_t>(logical_block)] < 0) {
    refuse("block_table[{}][{}] is {}, but token {} of request {} lies there.", req_idx,
           logical_block, row[static_cast<std::size_t>(logical_block)], position, req_idx);
  }
}

}  // namespace

std::int64_t slot_of(std::span<const std::int32_t> row,
                     std::int64_t position,
                     std::int64_t block_size,
                     const ContextParallel& parallel) {
  // All ranks use the same block numbers, so together a block holds world_size times as many.
  const std::int64_t positions_per_block = block_size * parallel.world_size;
  const std::int64_t logical_block = position / positions_per_block;
  const std::int64_t offset = position % positions_per_block;
  const std::int64_t turn = offset / parallel.interleave;
  if (turn % parallel.world_size != parallel.rank) return kNoSlot;

  const std::int64_t full_turns = turn / parallel.world_size;
  const std::int64_t block_offset = full_turns * parallel.interleave + offset % parallel.interleave;
  const std::int64_t physical_block = row[static_cast<std::size_t>(logical_block)];
  return physical_block * block_size + block_offset;
}

std::vector<std::int64_t> positions_of(std::span<const std::int32_t> query_start_loc,
                                       std::span<const std::int32_t> seq_lens) {
  require_sound(query_start_loc, seq_lens);
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(query_start_loc.back()));
  for (std::size_t req_idx = 0; req_idx < seq_lens.size(); ++req_idx) {
    const std::int64_t query_len = query_start_loc[req_idx + 1] - query_start_loc[req_idx];
    const std::int64_t num_computed_tokens = seq_lens[req_idx] - query_len;
    for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
      positions.push_back(num_computed_tokens + query_idx);
    }
  }
  return positions;
}

std::vector<std::int64_t> slot_mapping_of(const BlockTable& block_table,
                                          std::span<const std::int32_t> query_start_loc,
                                          std::span<const std::int32_t> seq_lens,
                                          std::int64_t block_size,
                                          std::int64_t num_tokens,
                                          const ContextParallel& parallel) {
  require_sound(parallel);
  const std::vector<std::int64_t> positions = positions_of(query_start_loc, seq_lens);
  if (block_table.num_reqs != static_cast<std::int64_t>(seq_lens.size())) {
    refuse("block_table has {} rows, but there are {} requests.", block_table.num_reqs,
           seq_lens.size());
  }
  if (block_size < 1) refuse("block_size is {}; it must be at least 1.", block_size);
  if (num_tokens < query_start_loc.back()) {
    refuse("num_tokens is {}, but query_start_loc ends at {}.", num_tokens, query_start_loc.back());
  }

  std::vector<std::int64_t> slots(static_cast<std::size_t>(num_tokens), kNoSlot);
  for (std::int64_t req_idx = 0; req_idx < block_table.num_reqs; ++req_idx) {
    const std::span<const std::int32_t> row = block_table.row(req_idx);
    for (std::int64_t token_idx = query_start_loc[static_cast<std::size_t>(req_idx)];
         token_idx < query_start_loc[static_cast<std::size_t>(req_idx) + 1]; ++token_idx) {
      const std::int64_t position = positions[static_cast<std::size_t>(token_idx)];
      require_block(row, position / (block_size * parallel.world_size), req_idx, position);
      slots[static_cast<std::size_t>(token_idx)] = slot_of(row, position, block_size, parallel);
    }
  }
  return slots;
}

}  // namespace pagelab
