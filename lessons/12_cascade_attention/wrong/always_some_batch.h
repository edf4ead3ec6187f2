// Wrong in task 5: where each request costs more than it gains, some large batch is said to help.
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
  return right_least_requests(layer, gpu, prefix_len, own_len).value_or(1000);
}

}  // namespace pagelab::lesson_12
