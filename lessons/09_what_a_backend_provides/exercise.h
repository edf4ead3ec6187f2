// Lesson 09, the exercise: the shape and the strides of a cache, and a metadata builder. Fill the gaps TODO(1)
// to TODO(4), each in place of the line that throws, and run ./pagelab check 9. The text is in README.md,
// hints are in hints.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lessons/09_what_a_backend_provides/pieces.h"
#include "lessons/checker/not_solved.h"
#include "reference/contract/attention_step.h"

namespace pagelab::lesson_09 {

using lessons::NotSolved;

/// The logical shape of a layer's cache, in which K and V of a token and head share a row.
/// \param layer       the layer
/// \param num_blocks  blocks of the cache
/// \param block_size  tokens a block
inline CacheShape kv_cache_shape(const LayerSpec& layer,
                                 std::int64_t num_blocks,
                                 std::int64_t block_size) {
  throw NotSolved{"09", 1};  // TODO(1)
}

/// The strides of a cache that lies in memory in the order of a layout.
/// \param layout      the axes L, B, H, N and C, the outermost first: "LBNHC"
/// \param num_layers  L
/// \param shape       the other four, of one layer
/// \returns           in elements
inline CacheStrides strides_of(const std::string& layout,
                               std::int64_t num_layers,
                               const CacheShape& shape) {
  throw NotSolved{"09", 2};  // TODO(2)
}

/// Divides a batch before its first request of more than `decode_threshold` query tokens.
/// \param common            the batch
/// \param decode_threshold  the longest query of a decode
inline BatchSplit split_decodes_and_prefills(const CommonAttentionMetadata& common,
                                             std::int64_t decode_threshold) {
  throw NotSolved{"09", 3};  // TODO(3)
}

/// What FlashInfer's builder makes of a batch, once a step for all layers. A decode has one query token.
/// \param common     the batch; a page is a block
/// \param page_size  tokens a page
inline FlashInferMetadata build(const CommonAttentionMetadata& common, std::int64_t page_size) {
  throw NotSolved{"09", 4};  // TODO(4)
}

}  // namespace pagelab::lesson_09
