// Wrong in task 2: the order in which the axes are written down is taken for that of the memory.
// Everything else is the solution's.
#pragma once

#define strides_of right_strides_of
#include "lessons/09_what_a_backend_provides/solution.h"
#undef strides_of

namespace pagelab::lesson_09 {

inline CacheStrides strides_of(const std::string&,
                               std::int64_t num_layers,
                               const CacheShape& shape) {
  return right_strides_of("LBHNC", num_layers, shape);
}

}  // namespace pagelab::lesson_09
