// Wrong in task 5: more launches take no more time.
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
  return right_least_requests(layer, {gpu.bytes_per_us, 0, 0}, prefix_len, own_len);
}

}  // namespace pagelab::lesson_12
