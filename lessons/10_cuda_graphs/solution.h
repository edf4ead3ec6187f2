// Lesson 10, a solution. There are others: the check judges what the functions return, and what a replay does.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>

#include "lessons/10_cuda_graphs/answer.h"
#include "lessons/10_cuda_graphs/means.cuh"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

inline CUDAGraphMode resolve_mode(const ModeQuestion& question) {
  const AttentionCGSupport weakest =
      *std::min_element(question.supports.begin(), question.supports.end());
  CUDAGraphMode mode = question.mode;
  if (mode == CUDAGraphMode::kFull && weakest != AttentionCGSupport::kAlways) {
    mode = CUDAGraphMode::kFullAndPiecewise;
  }
  const auto decodes_are_full = [&mode] {
    return mode == CUDAGraphMode::kFull || mode == CUDAGraphMode::kFullDecodeOnly ||
           mode == CUDAGraphMode::kFullAndPiecewise;
  };
  if (decodes_are_full() && weakest == AttentionCGSupport::kNever) {
    mode = CUDAGraphMode::kPiecewise;
  }
  if (decodes_are_full() && question.decode_query_len > 1 &&
      weakest < AttentionCGSupport::kUniformBatch) {
    mode = CUDAGraphMode::kPiecewise;
  }
  return mode;
}

inline Dispatch dispatch(const RecordedGraphs& graphs, const Batch& batch) {
  std::int64_t num_tokens = 0;
  bool only_decodes = true;
  for (const std::int64_t query_len : batch.query_lens) {
    num_tokens += query_len;
    only_decodes = only_decodes && query_len == 1;
  }
  const auto size =
      std::lower_bound(graphs.capture_sizes.begin(), graphs.capture_sizes.end(), num_tokens);
  if (size == graphs.capture_sizes.end()) return {CUDAGraphMode::kNone, num_tokens, std::nullopt};

  const bool has_full = graphs.mode == CUDAGraphMode::kFullDecodeOnly ||
                        graphs.mode == CUDAGraphMode::kFullAndPiecewise;
  // More rows than requests may run: such a graph of decodes was never recorded.
  const bool is_recorded = *size <= graphs.max_num_seqs;
  if (has_full && only_decodes && !batch.uses_cascade && is_recorded) {
    return {CUDAGraphMode::kFull, *size, *size};
  }
  const bool has_pieces =
      graphs.mode == CUDAGraphMode::kPiecewise || graphs.mode == CUDAGraphMode::kFullAndPiecewise;
  if (has_pieces) return {CUDAGraphMode::kPiecewise, *size, std::nullopt};
  return {CUDAGraphMode::kNone, num_tokens, std::nullopt};
}

inline CommonAttentionMetadata pad_step(const CommonAttentionMetadata& step,
                                        const GraphSize& size) {
  const auto num_reqs = static_cast<std::size_t>(size.num_reqs);
  CommonAttentionMetadata padded = step;
  // An empty row begins where it ends.
  padded.query_start_loc.resize(num_reqs + 1, step.query_start_loc.back());
  padded.seq_lens.resize(num_reqs, size.padding_seq_len);
  padded.block_table.num_reqs = size.num_reqs;
  padded.block_table.entries.resize(
      num_reqs * static_cast<std::size_t>(step.block_table.max_blocks_per_req), kNullBlock);
  padded.slot_mapping.resize(static_cast<std::size_t>(size.num_tokens), kNoSlot);
  return padded;
}

inline void record_means(const PersistentArrays& arrays, const CurrentStep& step) {
  static_cast<void>(step);  // all of it would be recorded, and be wrong in the next step
  MeansParams params;
  params.seq_lens = arrays.seq_lens;
  params.block_table = arrays.block_table;
  params.values = arrays.values;
  params.means = arrays.means;
  // As many rows as the largest step has: those behind a smaller one have length 0.
  params.num_reqs = arrays.max_num_reqs;
  params.max_blocks_per_req = arrays.max_blocks_per_req;
  params.block_size = arrays.block_size;
  // What a row of the table has room for: no step is longer.
  params.max_seq_len = arrays.max_blocks_per_req * arrays.block_size;
  launch_means(params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
