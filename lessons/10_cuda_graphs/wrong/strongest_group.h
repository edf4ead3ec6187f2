// Wrong in task 1: one group that can do everything is taken for all.
// Everything else is the solution's.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"

#define resolve_mode right_resolve_mode
#include "lessons/10_cuda_graphs/solution.h"
#undef resolve_mode

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

inline CUDAGraphMode resolve_mode(const ModeQuestion& question) {
  ModeQuestion of_strongest = question;
  of_strongest.supports = {*std::max_element(question.supports.begin(), question.supports.end())};
  return right_resolve_mode(of_strongest);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
