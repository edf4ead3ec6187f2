// Wrong in task 4: a base-2 logarithm is used as it is.
// Everything else is the solution's.
#pragma once

#define natural_lse right_natural_lse
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef natural_lse

namespace pagelab::lesson_04 {

inline double natural_lse(double lse_base_2) { return lse_base_2; }

}  // namespace pagelab::lesson_04
