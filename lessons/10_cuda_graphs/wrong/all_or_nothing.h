// Wrong in task 1: FULL loses its graphs for decodes as well, which a weaker backend could keep.
// Everything else is the solution's.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"

#define resolve_mode right_resolve_mode
#include "lessons/10_cuda_graphs/solution.h"
#undef resolve_mode

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

inline CUDAGraphMode resolve_mode(const ModeQuestion& question) {
  const bool weakened = right_resolve_mode(question) != question.mode;
  return weakened ? CUDAGraphMode::kPiecewise : question.mode;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
