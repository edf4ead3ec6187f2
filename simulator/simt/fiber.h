/// \file
/// A fiber: a stack of its own on which a function runs until it hands the processor to another.
/// Each lane of a simulated kernel that waits for others is kept on one. Switching saves six
/// registers and exchanges the stack pointer; no system call takes part, so that it costs a few
/// nanoseconds. AddressSanitizer is told of every switch, ThreadSanitizer of those between a host thread and
/// its fibers.
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
  bool is_of_fiber = false;           ///< not of a host thread itself; for ThreadSanitizer
};

/// The context of the thread that calls it, to be filled when it switches away.
FiberContext context_of_this_thread();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// Tells the sanitizers that another stack comes next.
void announce_switch(FiberContext& from, FiberContext& to);
/// Tells them that it has come.
void confirm_switch(void* fake_stack);
#else
/// Tells nobody: no sanitizer is there.
inline void announce_switch(FiberContext&, FiberContext&) {}
/// Tells nobody: no sanitizer is there.
inline void confirm_switch(void*) {}
#endif

/// Leaves one flow of control and continues another, which came to a stop in the same function or
/// has not begun. Inlined and without a call, because a processor predicts each `ret` from its record
/// of calls: so the record stays that of the kernel's call of a barrier, which is the same for all.
/// \param from  of the caller; set
/// \param to    where to go on
[[gnu::always_inline]] inline void switch_context(FiberContext& from, FiberContext& to) {
  announce_switch(from, to);
  void** save = &from.stack_pointer;
  void* load = to.stack_pointer;
  // x86-64. Every register is lost but rbx and rbp, which a compiler may not let go and which are
  // kept on the stack, below the 128 bytes that a function may use without saying so.
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%[save])\n\t"
      "movq %[load], %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : [save] "+D"(save), [load] "+S"(load)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "memory", "cc");
  confirm_switch(from.fake_stack);
}

/// A stack and the flow of control on it. Reused from lane to lane.
class Fiber {
 public:
  /// Bytes of a stack. It is taken from the system as it is touched.
  static constexpr std::size_t kStackBytes = 256 * 1024;

  /// \param entry     never returns: it switches away for the last time
  /// \param argument  what entry gets
  /// \param number    of the fiber, from 0. Neighbours' stacks begin at different places of a page: at the same,
  ///                  the frames of a warp's lanes would drive each other out of a processor's first cache, which
  ///                  keeps few lines of each place
  /// \throws Error    if the system refuses the stack
  Fiber(void (*entry)(void* argument), void* argument, std::size_t number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes it begin with `entry` again; called by the host thread itself. What lay on its stack is forgotten,
  /// not destroyed.
  void restart();

  FiberContext& context() { return context_; }  ///< where it stands

 private:
  void prepare_stack();

  void (*entry_)(void*);
  void* argument_;
  std::byte* memory_ = nullptr;  // a guard page, then the stack
  FiberContext context_;
};

}  // namespace pagelab::simt
