/// \file
/// What the flex kernel gets beside the step: the tables in which paging has become masking. All keys of the
/// cache are one long sequence of physical positions x = physical_block · block_size + block_offset, of which
/// each query row sees a few.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// "This physical block is not one of the request's", in the inverse block table.
inline constexpr std::int32_t kNoLogicalBlock = -1;

/// Query rows of a group, which share a list of blocks: Q_BLOCK_SIZE in PyTorch.
inline constexpr std::int64_t kFlexRows = 16;

/// One launch attends for the whole batch. Plain data, passed by value; pointers are device addresses. An
/// example with blocks of 4 tokens, a decode (r0: 6 keys) and a prefill (r1: 3 keys), all in one group:
///
///     block_table            physical_to_logical           kv_num_blocks  [3]
///       r0  2  0               r0   1 ·  0 ·               kv_indices     [2, 0, 3]
///       r1  3  ·               r1   · ·  · 0               group_start    [0, 4]
struct FlexAttentionParams {
  PagedAttentionParams step;  ///< arrays, batch, cache and variant; the block table is not read
  const std::int32_t* physical_to_logical = nullptr;  ///< [num_reqs, num_blocks] or kNoLogicalBlock
  std::int64_t num_blocks = 0;                        ///< of the cache

  const std::int32_t* group_start = nullptr;    ///< [num_groups + 1] first row of each group
  const std::int32_t* kv_num_blocks = nullptr;  ///< [num_groups] how many blocks to visit
  const std::int32_t* kv_indices = nullptr;  ///< [num_groups, max_blocks_per_group] which, then −1
  std::int64_t num_groups = 0;               ///< groups of up to kFlexRows rows
  std::int64_t max_blocks_per_group = 0;     ///< columns of kv_indices
};

inline namespace PAGELAB_TARGET {

/// \param attention  a launch
/// \returns          which head is too large; empty if none is
inline std::string refusal_of_flex(const FlexAttentionParams& attention) {
  constexpr std::int64_t kMaxHeadSize = 256;  // what shared memory is asked to hold
  const std::string of_keys =
      refusal_of_range("head_size", attention.step.head_size, 1, kMaxHeadSize);
  if (!of_keys.empty()) return of_keys;
  return refusal_of_range("head_size_v", attention.step.head_size_v, 1, kMaxHeadSize);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
