/// \file
/// Slot mappings: where in the cache each token of a step is stored. Also for context parallelism,
/// where several ranks hold every n-th token of a request.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/cache/block_table.h"

namespace pagelab {

/// A request's tokens dealt out to ranks like cards, `interleave` tokens at a time.
/// \source vLLM v1/worker/block_table.py
struct ContextParallel {
  std::int64_t world_size = 1;  ///< ranks
  std::int64_t rank = 0;        ///< this one
  std::int64_t interleave = 1;  ///< consecutive tokens that go to one rank
};

/// Where a position lies on this rank, or kNoSlot if another rank holds it.
/// A row's block covers block_size · world_size positions, of which block_size lie here.
/// \param row         the request's row of the block table
/// \param position    0 or more; its block must be in the row
/// \param block_size  tokens a block, on one rank
/// \param parallel    the ranks
std::int64_t slot_of(std::span<const std::int32_t> row,
                     std::int64_t position,
                     std::int64_t block_size,
                     const ContextParallel& parallel);

/// The position in its request of each token of a step: the queries are a sequence's last tokens.
/// \param query_start_loc  [num_reqs + 1] first token of each request
/// \param seq_lens         [num_reqs] tokens of each request, this step's included
/// \returns                [query_start_loc[num_reqs]]
/// \throws Error           if the boundaries do not ascend from 0, or a query exceeds its sequence
std::vector<std::int64_t> positions_of(std::span<const std::int32_t> query_start_loc,
                                       std::span<const std::int32_t> seq_lens);

/// The slot of each token of a step.
/// \param block_table      [num_reqs, max_blocks_per_req]
/// \param query_start_loc  [num_reqs + 1] first token of each request
/// \param seq_lens         [num_reqs] tokens of each request, this step's included
/// \param block_size       tokens a block
/// \param num_tokens       tokens of the batch, padding included; padding gets kNoSlot
/// \param parallel         this rank among those that share the tokens; by default it has them all
/// \returns                [num_tokens]
/// \throws Error           if the batch is inconsistent, or a needed block is not in the table
std::vector<std::int64_t> slot_mapping_of(const BlockTable& block_table,
                                          std::span<const std::int32_t> query_start_loc,
                                          std::span<const std::int32_t> seq_lens,
                                          std::int64_t block_size,
                                          std::int64_t num_tokens,
                                          const ContextParallel& parallel = {});

}  // namespace pagelab
