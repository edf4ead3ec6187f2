/// \file
/// What lanes of a warp do together, beyond the words of cuda_words.h: each brings something, the
/// last to come computes for all, and each leaves with its result. An `mma` is such a word, and so
/// is a shuffle.
///
/// Abstracted: on a GPU these take one instruction; here the lanes wait for each other one by one.
#pragma once
#include "simulator/simt/not_hooked.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

/// Calls what `together` was given, when the last lane has come. It is no part of the kernel, so the
/// compiler puts no hooks into it: the lane that runs it must not count as being elsewhere in the code.
/// \param compute  a Compute
/// \param lanes    what each lane brought, and where its part goes
template <typename In, typename Out, typename Compute>
[[PAGELAB_NOT_HOOKED]] void compute_for_all(const void* compute, const WarpExchange& lanes) {
  const In* ins[kLanesPerWarp];
  Out* outs[kLanesPerWarp];
  for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
    ins[lane_idx] = static_cast<const In*>(lanes.in[lane_idx]);
    outs[lane_idx] = static_cast<Out*>(lanes.out[lane_idx]);
  }
  const In* const(&constant_ins)[kLanesPerWarp] = ins;
  Out* const(&constant_outs)[kLanesPerWarp] = outs;
  (*static_cast<const Compute*>(compute))(constant_ins, constant_outs);
}

/// Lanes of a warp meet. Each lane of `mask` calls this; when the last has come, `compute(ins, outs)`
/// runs once, and each lane returns with its part.
/// \tparam In      what a lane brings
/// \tparam Out     what it takes away; default-constructible
/// \param word     name for messages; lanes meet only those that came with the same word and mask
/// \param mask     lanes that take part, the caller among them
/// \param in       what this lane brings
/// \param compute  callable with `(const In* const (&ins)[32], Out* const (&outs)[32])`: null for
///                 lanes that do not take part
/// \param pc       where the kernel called, for messages
template <typename In, typename Out, typename Compute>
[[gnu::always_inline]] inline Out together(
    const char* word, unsigned int mask, const In& in, Compute compute, const void* pc) {
  Out out{};
  running_thread_block->meet(word, mask, &in, &out, {compute_for_all<In, Out, Compute>, &compute},
                             pc);
  return out;
}

/// The same where the caller is the kernel's own frame.
template <typename In, typename Out, typename Compute>
[[gnu::noinline]] Out together(const char* word, unsigned int mask, const In& in, Compute compute) {
  return together<In, Out>(word, mask, in, compute, __builtin_return_address(0));
}

}  // namespace pagelab::simt
