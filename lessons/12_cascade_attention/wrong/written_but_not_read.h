// Wrong in task 5: the merge reads for nothing.
// Everything else is the solution's.
#pragma once

#define least_requests right_least_requests
#include "lessons/12_cascade_attention/solution.h"
#undef least_requests

namespace pagelab::lesson_12 {

inline std::optional<int> least_requests(const Layer& layer,
                                         const Gpu& gpu,
                                         int prefix_len,
                                         int own_len) {
  Layer other = layer;
  other.num_query_heads = layer.num_query_heads / 2;
  return right_least_requests(other, gpu, prefix_len, own_len);
}

}  // namespace pagelab::lesson_12
