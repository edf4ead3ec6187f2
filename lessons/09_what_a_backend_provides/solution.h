// Lesson 09, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lessons/09_what_a_backend_provides/pieces.h"
#include "lessons/checker/not_solved.h"
#include "reference/contract/attention_step.h"

namespace pagelab::lesson_09 {

using lessons::NotSolved;

inline CacheShape kv_cache_shape(const LayerSpec& layer,
                                 std::int64_t num_blocks,
                                 std::int64_t block_size) {
  // A latent row is both key and value, and all query heads read the same one.
  if (layer.is_latent) return {num_blocks, 1, block_size, layer.head_size};
  return {num_blocks, layer.num_kv_heads, block_size, layer.head_size + layer.head_size_v};
}

inline CacheStrides strides_of(const std::string& layout,
                               std::int64_t num_layers,
                               const CacheShape& shape) {
  const std::map<char, std::int64_t> extents = {{'L', num_layers},
                                                {'B', shape.num_blocks},
                                                {'H', shape.heads},
                                                {'N', shape.states},
                                                {'C', shape.content}};
  // From the innermost axis outwards: a step along an axis passes over all that lies inside it.
  std::map<char, std::int64_t> strides;
  std::int64_t inside = 1;
  for (auto axis = layout.rbegin(); axis != layout.rend(); ++axis) {
    strides[*axis] = inside;
    inside *= extents.at(*axis);
  }
  return {strides['L'], strides['B'], strides['H'], strides['N'], strides['C']};
}

inline BatchSplit split_decodes_and_prefills(const CommonAttentionMetadata& common,
                                             std::int64_t decode_threshold) {
  const std::int64_t num_reqs = common.num_reqs();
  std::int64_t num_decodes = 0;
  // The second part begins here, even if a decode follows: a part is a slice of every array.
  while (num_decodes < num_reqs && common.query_len(num_decodes) <= decode_threshold) ++num_decodes;
  const std::int64_t num_decode_tokens = common.query_start_loc[num_decodes];
  return {num_decodes, num_reqs - num_decodes, num_decode_tokens,
          common.num_actual_tokens() - num_decode_tokens};
}

inline FlashInferMetadata build(const CommonAttentionMetadata& common, std::int64_t page_size) {
  FlashInferMetadata metadata;
  metadata.split = split_decodes_and_prefills(common, 1);
  metadata.paged_kv_indptr = {0};
  for (std::int64_t req_idx = 0; req_idx < common.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = common.seq_lens[req_idx];
    const std::int64_t num_pages = blocks_for_tokens(seq_len, page_size);
    // No further than the tokens reach: behind them a row of the block table may hold anything.
    for (const std::int32_t page : common.block_table.row(req_idx).first(num_pages)) {
      metadata.paged_kv_indices.push_back(page);
    }
    const auto num_pages_so_far = static_cast<std::int32_t>(metadata.paged_kv_indices.size());
    metadata.paged_kv_indptr.push_back(num_pages_so_far);
    // A full page has page_size tokens, not 0; only a request without tokens has none.
    const std::int64_t last_page_len = seq_len == 0 ? 0 : (seq_len - 1) % page_size + 1;
    metadata.paged_kv_last_page_len.push_back(static_cast<std::int32_t>(last_page_len));
  }
  // The prefill kernel is handed the prefills' slice of the queries, which begins at 0.
  const std::int64_t num_decodes = metadata.split.num_decodes;
  for (std::int64_t req_idx = num_decodes; req_idx <= common.num_reqs(); ++req_idx) {
    metadata.qo_indptr.push_back(common.query_start_loc[req_idx] -
                                 common.query_start_loc[num_decodes]);
  }
  return metadata;
}

}  // namespace pagelab::lesson_09
