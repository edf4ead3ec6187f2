/// \file
/// What the paged-attention kernels get: the step's arrays, the batch, the cache, the variant.
#pragma once

#include <cstdint>

#include "reference/attention/variants.h"
#include "reference/cache/kv_cache.h"
#include "reference/tensor/dtype.h"

namespace pagelab {

/// The most shared memory of a thread block on Hopper: 227 KiB.
/// \source CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
inline constexpr std::int64_t kHopperSharedBytes = 227 * 1024;

/// One launch attends for the whole batch. Plain data, passed by value; pointers are device
/// addresses. Encoder-only attention is the same with this step's own keys as the cache: blocks of
/// one token, and block_table[r][j] = query_start_loc[r] + j.
struct PagedAttentionParams {
  const void* query = nullptr;          ///< [num_tokens, num_query_heads, head_size]
  DType query_dtype = DType::kFloat32;  ///< of query, for kernels that have it in no template
  DType cache_dtype = DType::kFloat32;  ///< of the keys and values, for whoever chooses a launcher
  std::int64_t num_tokens = 0;          ///< rows of query, padding included
  std::int64_t num_query_heads = 0;     ///< a multiple of num_kv_heads
  std::int64_t num_kv_heads = 0;        ///< KV heads
  std::int64_t head_size = 0;           ///< elements of a query and a key
  std::int64_t head_size_v = 0;         ///< elements of a value

  std::int64_t num_reqs = 0;                      ///< requests
  const std::int32_t* query_start_loc = nullptr;  ///< [num_reqs + 1] first token of each request
  const std::int32_t* seq_lens = nullptr;         ///< [num_reqs] keys of each request
  const std::int32_t* block_table = nullptr;      ///< [num_reqs, max_blocks_per_req]
  std::int64_t max_blocks_per_req = 0;            ///< columns of the block table

  // A page table instead (page_table.h): then block_table is [paged_kv_indptr[num_reqs]], a request has
  // max_blocks_per_req blocks at most, and seq_lens may be nullptr.
  const std::int32_t* paged_kv_indptr = nullptr;  ///< [num_reqs + 1] first block of each request
  const std::int32_t* paged_kv_last_page_len = nullptr;  ///< [num_reqs] tokens of its last block

  const void* key_cache = nullptr;    ///< first key
  KvStrides key_strides;              ///< where the others are, in elements
  const void* value_cache = nullptr;  ///< first value
  KvStrides value_strides;            ///< where the others are, in elements
  std::int64_t block_size = 1;        ///< tokens a block
  const float* k_scales = nullptr;    ///< [num_kv_heads] an fp8 code times this is the key
  const float* v_scales = nullptr;    ///< [num_kv_heads] likewise for values

  float scale = 1.0f;                   ///< factor on the scores
  VisibilityRule visibility;            ///< causality and window; cross attention has neither
  bool has_softcap = false;             ///< whether logit_softcap counts
  float logit_softcap = 0.0f;           ///< cap · tanh(score / cap)
  const float* alibi_slopes = nullptr;  ///< [num_query_heads], or nullptr
  const float* sinks = nullptr;         ///< [num_query_heads], or nullptr
  const MmPrefixRange* mm_prefix_ranges = nullptr;  ///< [num_mm_prefix_ranges], or nullptr
  std::int64_t num_mm_prefix_ranges = 0;            ///< prefix-LM ranges of all requests

  float* output = nullptr;  ///< [num_tokens, num_query_heads, head_size_v]
  float* lse = nullptr;     ///< [num_query_heads, num_tokens] natural log

  // What the host knows beside the arrays. From rung 3 of paged_decode on, a launch depends on it.
  std::int64_t max_seq_len = 0;                        ///< no smaller than any of seq_lens
  std::int64_t max_shared_bytes = kHopperSharedBytes;  ///< that a thread block may have
  float* workspace = nullptr;         ///< [workspace_floats] (paged_decode/partitions.h)
  std::int64_t workspace_floats = 0;  ///< how many there are
};

}  // namespace pagelab
