// Wrong in task 2: a batch is taken for one of decodes if its mean query has one token.
// Everything else is the solution's.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"

#define dispatch right_dispatch
#include "lessons/10_cuda_graphs/solution.h"
#undef dispatch

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

inline Dispatch dispatch(const RecordedGraphs& graphs, const Batch& batch) {
  Batch even = batch;
  std::int64_t num_tokens = 0;
  for (const std::int64_t query_len : batch.query_lens) num_tokens += query_len;
  if (num_tokens < 2 * static_cast<std::int64_t>(batch.query_lens.size())) {
    even.query_lens.assign(static_cast<std::size_t>(num_tokens), 1);
  }
  return right_dispatch(graphs, even);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
