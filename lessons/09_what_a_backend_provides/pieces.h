/// \file
/// What the functions of this lesson's exercise take and return: the shape and strides of a cache, and what
/// a metadata builder makes of a batch.
#pragma once

#include <cstdint>
#include <vector>

namespace pagelab::lesson_09 {

/// A layer, as far as its cache depends on it.
struct LayerSpec {
  std::int64_t num_kv_heads = 0;  ///< KV heads
  std::int64_t head_size = 0;     ///< elements of a key; of a latent layer, of its one row
  std::int64_t head_size_v = 0;   ///< elements of a value
  bool is_latent = false;  ///< keeps one row a token that serves all heads, as key and as value
};

/// The cache of a layer as everybody indexes it, wherever the bytes lie: [B, H, N, C].
struct CacheShape {
  std::int64_t num_blocks = 0;                         ///< B
  std::int64_t heads = 0;                              ///< H
  std::int64_t states = 0;                             ///< N, one a token of the block
  std::int64_t content = 0;                            ///< C, elements of one state
  bool operator==(const CacheShape&) const = default;  ///< member by member
};

/// How many elements it is from one index to the next, an axis each.
struct CacheStrides {
  std::int64_t layer = 0;                                ///< L: from layer to layer
  std::int64_t block = 0;                                ///< B: from block to block
  std::int64_t head = 0;                                 ///< H: from head to head
  std::int64_t state = 0;                                ///< N: from token to token
  std::int64_t content = 0;                              ///< C: from element to element
  bool operator==(const CacheStrides&) const = default;  ///< member by member
};

/// A batch in two: its first requests, and the others.
struct BatchSplit {
  std::int64_t num_decodes = 0;                        ///< requests of the first part
  std::int64_t num_prefills = 0;                       ///< requests of the second
  std::int64_t num_decode_tokens = 0;                  ///< query tokens of the first
  std::int64_t num_prefill_tokens = 0;                 ///< query tokens of the second
  bool operator==(const BatchSplit&) const = default;  ///< member by member
};

/// FlashInfer's view of a batch of N requests. Its word for a block is page.
/// \source vLLM v1/attention/backends/flashinfer.py, FlashInferMetadataBuilder
struct FlashInferMetadata {
  BatchSplit split;                           ///< decodes in front, prefills behind
  std::vector<std::int32_t> paged_kv_indptr;  ///< [N + 1] first page of each request, and the end
  std::vector<std::int32_t>
      paged_kv_indices;  ///< [paged_kv_indptr[N]] pages, request after request
  std::vector<std::int32_t> paged_kv_last_page_len;  ///< [N] tokens in each request's last page
  std::vector<std::int32_t>
      qo_indptr;  ///< [num_prefills + 1] first query of each prefill, and the end
};

}  // namespace pagelab::lesson_09
