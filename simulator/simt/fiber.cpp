#include "simulator/simt/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "simulator/simt/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

// Saves what a called function must preserve (System V ABI, x86-64: rbx, rbp, r12 to r15), exchanges
// the stack pointer, and takes the same from the other stack. The jump in place of `ret` is there
// because the processor predicts a `ret` from its record of calls, which is that of the other stack.
//
// void pagelab_simt_switch(void** save_stack_pointer, void* load_stack_pointer)
asm(R"(
  .text
  .globl pagelab_simt_switch
  .type pagelab_simt_switch, @function
pagelab_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
  .size pagelab_simt_switch, .-pagelab_simt_switch
)");

// Where a fiber begins: its two saved registers hold the function and the argument. A return address
// of zero lies on its stack, so that a debugger's list of callers ends here.
//
// void pagelab_simt_begin()
asm(R"(
  .text
  .globl pagelab_simt_begin
  .type pagelab_simt_begin, @function
pagelab_simt_begin:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%rbx
  ud2
  .cfi_endproc
  .size pagelab_simt_begin, .-pagelab_simt_begin
)");

extern "C" void pagelab_simt_switch(void** save_stack_pointer, void* load_stack_pointer);
extern "C" void pagelab_simt_begin();

namespace pagelab::simt {

namespace {

constexpr std::size_t kGuardBytes = 4096;

// AddressSanitizer must know which stack comes next, and hears afterwards that it has come.
void announce_switch([[maybe_unused]] FiberContext& from, [[maybe_unused]] FiberContext& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_begin, to.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  if (from.tsan_fiber == nullptr) from.tsan_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

void confirm_switch([[maybe_unused]] void* fake_stack) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

// The first function on a new fiber's stack.
struct Start {
  void (*entry)(void*);
  void* argument;
};

void run_fiber(void* start) {
  confirm_switch(nullptr);
  const Start& beginning = *static_cast<Start*>(start);
  beginning.entry(beginning.argument);
}

}  // namespace

FiberContext context_of_this_thread() {
  FiberContext context;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    throw Error("the simulator cannot find the stack of this thread.");
  }
  void* begin = nullptr;
  pthread_attr_getstack(&attributes, &begin, &context.stack_bytes);
  pthread_attr_destroy(&attributes);
  context.stack_begin = begin;
  return context;
}

void switch_context(FiberContext& from, FiberContext& to) {
  announce_switch(from, to);
  pagelab_simt_switch(&from.stack_pointer, to.stack_pointer);
  confirm_switch(from.fake_stack);
}

Fiber::Fiber(void (*entry)(void*), void* argument) : entry_(entry), argument_(argument) {
  void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error("the simulator cannot get a stack of " + std::to_string(kStackBytes) +
                " bytes for a lane.");
  }
  memory_ = static_cast<std::byte*>(memory);
  mprotect(memory_, kGuardBytes, PROT_NONE);
  context_.stack_begin = memory_ + kGuardBytes;
  context_.stack_bytes = kStackBytes;
  restart();
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(context_.tsan_fiber);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory_ + kGuardBytes, kStackBytes);
#endif
  munmap(memory_, kGuardBytes + kStackBytes);
}

void Fiber::restart() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory_ + kGuardBytes, kStackBytes);
  context_.fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  if (context_.tsan_fiber != nullptr) __tsan_destroy_fiber(context_.tsan_fiber);
  context_.tsan_fiber = __tsan_create_fiber(0);
#endif
  // From the top: what the fiber runs, a return address of zero, then what pagelab_simt_switch takes.
  std::byte* const top = memory_ + kGuardBytes + kStackBytes - 64;
  Start* const start = new (top) Start{entry_, argument_};
  void** stack = reinterpret_cast<void**>(top);
  *--stack = nullptr;
  *--stack = nullptr;                                       // pagelab_simt_begin has no caller
  *--stack = reinterpret_cast<void*>(&pagelab_simt_begin);  // where to go on
  *--stack = nullptr;                                       // rbp
  *--stack = reinterpret_cast<void*>(&run_fiber);           // rbx
  *--stack = start;                                         // r12
  *--stack = nullptr;                                       // r13
  *--stack = nullptr;                                       // r14
  *--stack = nullptr;                                       // r15
  context_.stack_pointer = stack;
}

}  // namespace pagelab::simt
