/// \file
/// The main job: six prompts, 240 tokens each, decoded greedily in one continuous batch over a pool that holds two of
/// them at a time. The tokens must be those that an independent float64 implementation found.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/model/batch_loop.h"
#include "reference/registry/backend.h"

namespace pagelab::test {

inline constexpr std::int64_t kMaxTokens = 240;  ///< of each text

/// What an independent implementation in float64 wrote.
struct GoldenText {
  std::vector<std::int32_t> prompt_ids;  ///< what it was asked
  std::vector<std::int32_t> output_ids;  ///< [kMaxTokens]
  double min_top2_gap;                   ///< between the two best logits, the smallest of the text
};

/// The six texts.
std::vector<GoldenText> golden_texts();

/// A pool for the two largest requests, so that the others wait; its blocks in shuffled order.
/// \param golden      the texts
/// \param block_size  tokens a block
/// \param num_tokens  to be generated of each
BatchLoopOptions few_shuffled_blocks(const std::vector<GoldenText>& golden,
                                     std::int64_t block_size,
                                     std::int64_t num_tokens = kMaxTokens);

/// Checks that a backend writes the golden texts, in steps that mix chunks of prompts with decodes while others wait.
/// \param backend     that attends
/// \param block_size  tokens a block
/// \param num_tokens  the beginning of each text
void check_golden_texts(const AttentionBackend& backend,
                        std::int64_t block_size,
                        std::int64_t num_tokens = kMaxTokens);

}  // namespace pagelab::test
