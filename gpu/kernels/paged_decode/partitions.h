/// \file
/// A long context in partitions, each attended by a thread block of its own, and where these leave what
/// they found until the reduce: how much room there must be, and who has which part of it.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/paged_attention/params.h"
#include "reference/contract/error.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// Keys of a partition; position j of a request is in partition j / 512. A constant, so that a row's
/// order of additions is a function of its own length alone, never of the batch or of the GPU. Longer
/// partitions leave multiprocessors idle for short contexts; shorter ones write more: for every 512 keys
/// of a KV head (256 KiB in bfloat16 at head size 128) each of its query heads writes and the reduce reads
/// 520 bytes, 1.6 % more traffic at four query heads.
inline constexpr std::int64_t kPartitionLen = 512;

inline namespace PAGELAB_TARGET {

/// Partitions of a context.
/// \param seq_len  keys
PAGELAB_HD inline std::int64_t num_partitions(std::int64_t seq_len) {
  return (seq_len + kPartitionLen - 1) / kPartitionLen;
}

/// What the partitions of each row leave, all in float32: unnormalised outputs, maxima and sums. Rows are
/// (token, query head), as in the output.
struct PartitionStates {
  std::int64_t partitions_per_row;  ///< of the longest context
  std::int64_t head_size_v;         ///< elements of an output
  float* maxima;                    ///< [num_rows, partitions_per_row] m
  float* sums;                      ///< [num_rows, partitions_per_row] l
  float* outputs;                   ///< [num_rows, partitions_per_row, head_size_v] acc

  /// Where a row's partition is in maxima and sums.
  PAGELAB_HD std::int64_t index(std::int64_t row_idx, std::int64_t partition) const {
    return row_idx * partitions_per_row + partition;
  }
  /// A row's partition of the outputs.
  PAGELAB_HD float* output(std::int64_t row_idx, std::int64_t partition) const {
    return outputs + index(row_idx, partition) * head_size_v;
  }
};

/// Floats of workspace that a launch needs. The host sets max_seq_len and the sizes before it asks.
PAGELAB_HD inline std::int64_t decode_workspace_floats(const PagedAttentionParams& params) {
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  return num_rows * num_partitions(params.max_seq_len) * (params.head_size_v + 2);
}

/// The workspace of a launch, in its parts.
PAGELAB_HD inline PartitionStates partition_states(const PagedAttentionParams& params) {
  PartitionStates states;
  states.partitions_per_row = num_partitions(params.max_seq_len);
  states.head_size_v = params.head_size_v;
  const std::int64_t num_states =
      params.num_tokens * params.num_query_heads * states.partitions_per_row;
  states.maxima = params.workspace;
  states.sums = states.maxima + num_states;
  states.outputs = states.sums + num_states;
  return states;
}

/// \param kernel  name for the message
/// \param params  of the launch
/// \throws Error  if there is less workspace than it needs
inline void require_workspace(const char* kernel, const PagedAttentionParams& params) {
  const std::int64_t needed = decode_workspace_floats(params);
  if (params.workspace_floats >= needed && (params.workspace != nullptr || needed == 0)) return;
  throw Error(std::string(kernel) + ": workspace_floats is " +
              std::to_string(params.workspace != nullptr ? params.workspace_floats : 0) + ", but " +
              std::to_string(needed) + " are needed (" +
              std::to_string(params.num_tokens * params.num_query_heads) + " rows, " +
              std::to_string(num_partitions(params.max_seq_len)) +
              " partitions of 512 keys, head_size_v " + std::to_string(params.head_size_v) + ").");
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
