// Lesson 10, the exercise. Fill the four gaps, then run ./pagelab check 10. The text is in README.md, hints are in hints.md.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"
#include "lessons/10_cuda_graphs/means.cuh"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

// Task 1: the mode that runs.
//
// The weakest of the groups decides. In this order, each rule reading what the one before it left:
// 1. Mixed batches are to be full (the mode is FULL), but the weakest is not ALWAYS: FULL_AND_PIECEWISE.
// 2. Decodes are to be full, but the weakest is NEVER: PIECEWISE.
// 3. Decodes are to be full and have several tokens, but the weakest is below UNIFORM_BATCH: PIECEWISE.
// (FULL with a group that is NEVER is refused at startup, and not asked here.)
inline CUDAGraphMode resolve_mode(const ModeQuestion& question) {
  throw NotSolved{"10", 1};  // TODO(1): three rules
  return question.mode;
}

// Task 2: the graph that replays a batch.
//
// The number of tokens is padded to the next capture size. FULL is tried first: the batch must be one of decodes, with
// one token each and without cascade, and its graph must exist. Then PIECEWISE, which serves any batch. Whether a mode
// has such graphs is what decode_mode and mixed_mode of cudagraph_mode.h say; here, without the engine's library:
//
//     mode                decodes      mixed
//     NONE                NONE         NONE
//     PIECEWISE           PIECEWISE    PIECEWISE
//     FULL_DECODE_ONLY    FULL         NONE
//     FULL_AND_PIECEWISE  FULL         PIECEWISE
//
// A batch for which there is no graph runs as NONE, with as many tokens as it has. num_reqs is set for FULL alone, to as
// many requests as there are tokens.
inline Dispatch dispatch(const RecordedGraphs& graphs, const Batch& batch) {
  throw NotSolved{"10", 2};  // TODO(2): the next size, and which of the two graphs
  return Dispatch{graphs.mode, static_cast<std::int64_t>(batch.query_lens.size())};
}

// Task 3: padding.
//
// The same step with as many tokens and requests as the graph was recorded for. The rows behind it must have no query
// tokens, the length padding_seq_len, blocks that are nobody's (kNullBlock), and slots that store nothing.
inline CommonAttentionMetadata pad_step(const CommonAttentionMetadata& step,
                                        const GraphSize& size) {
  throw NotSolved{"10", 3};  // TODO(3): four arrays, each with its own filler
  CommonAttentionMetadata padded = step;
  padded.slot_mapping.resize(static_cast<std::size_t>(size.num_tokens));
  return padded;
}

// Task 4: the stale values.
//
// This is called once, while the graph is recorded. Run eagerly it would be right. Replayed for other steps it is not: find
// everything that belongs to the step of the recording, and take what stays right for every step.
inline void record_means(const PersistentArrays& arrays, const CurrentStep& step) {
  throw NotSolved{"10", 4};  // TODO(4): what does a replay see of `step`?
  MeansParams params;
  params.seq_lens = step.seq_lens;
  params.block_table = step.block_table;
  params.values = arrays.values;
  params.means = arrays.means;
  params.num_reqs = step.num_reqs;
  params.max_blocks_per_req = step.max_blocks_per_req;
  params.block_size = arrays.block_size;
  params.max_seq_len = step.max_seq_len;
  launch_means(params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
