/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <cstdint>
#include <string>

#include "lessons/09_what_a_backend_provides/pieces.h"
#include "reference/contract/attention_step.h"

namespace pagelab::lesson_09 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  CacheShape (*kv_cache_shape)(const LayerSpec& layer,
                               std::int64_t num_blocks,
                               std::int64_t block_size);
  /// Task 2.
  CacheStrides (*strides_of)(const std::string& layout,
                             std::int64_t num_layers,
                             const CacheShape& shape);
  /// Task 3.
  BatchSplit (*split_decodes_and_prefills)(const CommonAttentionMetadata& common,
                                           std::int64_t decode_threshold);
  /// Task 4.
  FlashInferMetadata (*build)(const CommonAttentionMetadata& common, std::int64_t page_size);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_09
