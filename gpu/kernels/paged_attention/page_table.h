/// \file
/// Where the blocks of a request lie, and how many of its tokens they hold, in either of the two forms that a
/// batch comes in: vLLM's block table, a matrix, and FlashInfer's page table, which has no gaps:
///
///     block_size 4, seq_lens [6, 0, 4]      block_table          paged_kv_indptr [0, 2, 2, 3]
///                                             7  2               block_table     [7, 2, 5]
///                                             ·  ·               paged_kv_last_page_len [2, 0, 4]
///                                             5  ·
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The blocks of a request, in the order of its positions.
/// \param params   of the launch
/// \param req_idx  request
__device__ inline const std::int32_t* block_table_row_of(const PagedAttentionParams& params,
                                                         std::int64_t req_idx) {
  if (params.paged_kv_indptr != nullptr) {
    return params.block_table + params.paged_kv_indptr[req_idx];
  }
  return params.block_table + req_idx * params.max_blocks_per_req;
}

/// The keys of a request. Of a page table, all of its blocks are full but the last.
/// \param params   of the launch
/// \param req_idx  request
__device__ inline std::int64_t seq_len_of(const PagedAttentionParams& params,
                                          std::int64_t req_idx) {
  if (params.paged_kv_indptr == nullptr) return params.seq_lens[req_idx];
  const std::int64_t num_blocks =
      params.paged_kv_indptr[req_idx + 1] - params.paged_kv_indptr[req_idx];
  if (num_blocks == 0) return 0;
  return (num_blocks - 1) * params.block_size + params.paged_kv_last_page_len[req_idx];
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
