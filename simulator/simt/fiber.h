/// \file
/// A fiber: a stack of its own on which a function runs until it hands the processor to another.
/// Each lane of a simulated kernel that waits for others is kept on one. Switching saves six
/// registers and exchanges the stack pointer; no system call takes part, so that it costs a few
/// nanoseconds. The sanitizers are told of every switch.
///
/// Abstracted: nothing of CUDA is known here.
#pragma once

#include <cstddef>

namespace pagelab::simt {

/// Where a flow of control stands while another one runs.
struct FiberContext {
  void* stack_pointer = nullptr;      ///< top of its stack, saved registers on it
  const void* stack_begin = nullptr;  ///< lowest address of its stack, for the sanitizers
  std::size_t stack_bytes = 0;        ///< length of its stack, for the sanitizers
  void* fake_stack = nullptr;         ///< AddressSanitizer's own record of the flow
  void* tsan_fiber = nullptr;         ///< ThreadSanitizer's own record of the flow
};

/// The context of the thread that calls it, to be filled when it switches away.
FiberContext context_of_this_thread();

/// Leaves one flow of control and continues another, which came to a stop in the same function or
/// has not begun.
/// \param from  of the caller; set
/// \param to    where to go on
void switch_context(FiberContext& from, FiberContext& to);

/// A stack and the flow of control on it. Reused from lane to lane.
class Fiber {
 public:
  /// Bytes of a stack. It is taken from the system as it is touched.
  static constexpr std::size_t kStackBytes = 256 * 1024;

  /// \param entry     never returns: it switches away for the last time
  /// \param argument  what entry gets
  /// \throws Error    if the system refuses the stack
  Fiber(void (*entry)(void* argument), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes it begin with `entry` again. What lay on its stack is forgotten, not destroyed.
  void restart();

  FiberContext& context() { return context_; }  ///< where it stands

 private:
  void (*entry_)(void*);
  void* argument_;
  std::byte* memory_ = nullptr;  // a guard page, then the stack
  FiberContext context_;
};

}  // namespace pagelab::simt
