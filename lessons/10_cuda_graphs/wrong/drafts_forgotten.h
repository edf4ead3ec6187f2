// Wrong in task 1: several tokens a decode are taken for one.
// Everything else is the solution's.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"

#define resolve_mode right_resolve_mode
#include "lessons/10_cuda_graphs/solution.h"
#undef resolve_mode

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

inline CUDAGraphMode resolve_mode(const ModeQuestion& question) {
  ModeQuestion without_drafts = question;
  without_drafts.decode_query_len = 1;
  return right_resolve_mode(without_drafts);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
