/// \file
/// What the functions of the exercise get, and how the check finds those of an answer: answer.cu is compiled
/// with it, once for each target, as any kernel is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/numerics/target.h"
#include "reference/registry/backend_facts.h"
#include "simulator/engine/block_id.h"
#include "simulator/engine/cudagraph/cudagraph_mode.h"

namespace pagelab::lesson_10 {

// Each compiler's copies of the kernels lie in a namespace of their own. It is an inline one, which has to
// be said where it is first named.
inline namespace PAGELAB_TARGET {}

/// Task 1: a mode that was asked for, and what there is. The compiler has cut the model at its attention layers.
struct ModeQuestion {
  CUDAGraphMode mode = CUDAGraphMode::kNone;  ///< asked for
  std::vector<AttentionCGSupport> supports =
      {};                             ///< of each of the model's attention groups, one or more
  std::int64_t decode_query_len = 1;  ///< tokens of a decode: 1 + draft tokens
};

/// Task 2: the graphs that there are. Those of PIECEWISE are for every size. Those of FULL are for batches of decodes, a
/// token each: for every size that max_num_seqs requests can fill.
struct RecordedGraphs {
  CUDAGraphMode mode = CUDAGraphMode::kNone;     ///< of the engine; not FULL
  std::vector<std::int64_t> capture_sizes = {};  ///< tokens, ascending
  std::int64_t max_num_seqs = 0;                 ///< requests in a batch
};

/// Task 2: one step.
struct Batch {
  std::vector<std::int64_t> query_lens = {};  ///< tokens of each request, one or more each
  bool uses_cascade = false;  ///< a common prefix is attended for once, by other kernels
};

/// Task 2: how it runs.
struct Dispatch {
  CUDAGraphMode mode = CUDAGraphMode::kNone;         ///< NONE, PIECEWISE or FULL
  std::int64_t num_tokens = 0;                       ///< padded
  std::optional<std::int64_t> num_reqs = {};         ///< padded; only FULL has it in its key
  bool operator==(const Dispatch&) const = default;  ///< field by field
};

/// Task 3: what a step is padded to.
struct GraphSize {
  std::int64_t num_tokens = 0;  ///< no fewer than the step's
  std::int64_t num_reqs = 0;    ///< no fewer than the step's
  std::int32_t padding_seq_len =
      0;  ///< length of a row without a request: what the backend can bear
};

/// Task 4: arrays in device memory that stay where they are. Before each replay a step is written into them, padded.
struct PersistentArrays {
  const std::int32_t* seq_lens;     ///< [max_num_reqs]
  const std::int32_t* block_table;  ///< [max_num_reqs, max_blocks_per_req]
  const float* values;              ///< [num_blocks, block_size] the cache: a number a token
  float* means;                     ///< [max_num_reqs] the results
  int max_num_reqs;                 ///< rows of the graph
  int max_blocks_per_req;           ///< columns of the table
  int block_size;                   ///< tokens a block
};

/// Task 4: the step that happens to be there when the graph is recorded. Its arrays are freed after it.
struct CurrentStep {
  const std::int32_t* seq_lens;     ///< [num_reqs]
  const std::int32_t* block_table;  ///< [num_reqs, max_blocks_per_req]
  int num_reqs;                     ///< at most max_num_reqs
  int max_blocks_per_req;           ///< columns of its own table
  int max_seq_len;                  ///< its longest sequence
};

/// The functions of an answer, and where it was found.
struct Answer {
  const char* path;                                                        ///< of the file
  CUDAGraphMode (*resolve_mode)(const ModeQuestion& question);             ///< task 1
  Dispatch (*dispatch)(const RecordedGraphs& graphs, const Batch& batch);  ///< task 2
  CommonAttentionMetadata (*pad_step)(const CommonAttentionMetadata& step,
                                      const GraphSize& size);                     ///< task 3
  void (*record_means)(const PersistentArrays& arrays, const CurrentStep& step);  ///< task 4
};

namespace on_checked_simulator {
/// The answer, compiled with every access checked.
Answer answer();
}  // namespace on_checked_simulator

namespace on_cuda {
/// The answer, compiled by nvcc. Linked only where there was one.
Answer answer();
}  // namespace on_cuda

}  // namespace pagelab::lesson_10
