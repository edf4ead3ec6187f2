/// \file
/// How a thread of a block stops and the next one goes on: for the sources of ThreadBlock only. Inlined into what
/// a kernel calls, so that a processor's record of calls stays right (fiber.h).
#pragma once

#include "simulator/simt/fiber.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

/// Threads of a thread block; a power of two, for the ring of the ready ones.
inline constexpr std::size_t kMaxThreads = 1024;

// Leaves `from` for the next ready thread, or for run() if there is none.
[[gnu::always_inline]] inline void ThreadBlock::resume_next(FiberContext& from) {
  if (ready_begin_ == ready_end_) {
    if (&from != &main_context_) switch_context(from, main_context_);
    return;
  }
  running_thread_ = ready_[ready_begin_++ % kMaxThreads];
  Lane& lane = lanes_[running_thread_];
  if (lane.fiber == nullptr) lane.fiber = take_fiber();
  lane.state = State::kRunning;
  threadIdx = lane.thread_idx;
  FiberContext& to = lane.fiber->context();
  if (&to != &from) switch_context(from, to);
}

// The running thread stops here until someone makes it ready.
[[gnu::always_inline]] inline void ThreadBlock::wait(State state,
                                                     const char* word,
                                                     const void* pc) {
  Lane& lane = lanes_[running_thread_];
  lane.state = state;
  lane.waits_at = word;
  lane.pc = pc;
  if (spin_watch_.is_suspicious()) note_state_for_spin_watch(pc);
  one_less_runnable(running_thread_ / kLanesPerWarp);
  resume_next(lane.fiber->context());
}

}  // namespace pagelab::simt
