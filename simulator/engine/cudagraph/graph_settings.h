/// \file
/// What both runners' graphs are recorded for must make sense: the checks that they share.
#pragma once

#include <cstdint>
#include <vector>

namespace pagelab {

/// Checks what graphs are recorded for.
/// \throws Error  if a number is below 1, or the sizes do not ascend from at least 1
void require_sound_graph_settings(const std::vector<std::int64_t>& capture_sizes,
                                  std::int64_t uniform_decode_query_len,
                                  std::int64_t max_num_seqs);

/// Checks the numbers of one step. \throws Error  if one is negative, or there is no token
void require_sound_step(std::int64_t num_tokens, std::int64_t num_active_loras);

}  // namespace pagelab
