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

// Where a fiber begins: the function and its argument lie on its stack. Nobody called it, which the
// debugger is told.
asm(R"(
  .text
  .globl pagelab_simt_begin
  .type pagelab_simt_begin, @function
pagelab_simt_begin:
  .cfi_startproc
  .cfi_undefined rip
  popq %rbx
  popq %rdi
  callq *%rbx
  ud2
  .cfi_endproc
  .size pagelab_simt_begin, .-pagelab_simt_begin
)");

extern "C" void pagelab_simt_begin();

namespace pagelab::simt {

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kGuardBytes = kPageBytes;

// Bytes of a fiber's frames that every switch touches, about: seven lines of a cache. Its number of lines is
// odd, so that fibers' stacks begin at each of a page's lines in turn.
constexpr std::size_t kHotBytes = 7 * 64;

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

#if defined(__SANITIZE_THREAD__)
namespace {

// ThreadSanitizer's record of a host thread's fibers, which stands for all of them: they never run at the same
// time, and if each had its own, every switch would copy what it knows of all the others, up to 1,024. So a report
// names the access and its callers, but goes on with those of other fibers.
class RecordOfFibers {
 public:
  ~RecordOfFibers() { forget(); }

  [[gnu::no_sanitize("thread")]] void enter() {
    if (fibers_ == nullptr) fibers_ = __tsan_create_fiber(0);
    host_thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibers_, 0);
  }
  [[gnu::no_sanitize("thread")]] void leave() { __tsan_switch_to_fiber(host_thread_, 0); }
  // Called by the host thread itself, when what fibers had called is of no interest any more.
  void forget() {
    if (fibers_ != nullptr) __tsan_destroy_fiber(fibers_);
    fibers_ = nullptr;
  }

 private:
  void* fibers_ = nullptr;
  void* host_thread_ = nullptr;
};

thread_local RecordOfFibers record_of_fibers;

}  // namespace

// It is left in another record than it was entered in, so it does not count as a function.
[[gnu::no_sanitize("thread")]] void announce_switch(FiberContext& from, FiberContext& to) {
  if (from.is_of_fiber == to.is_of_fiber) return;
  if (to.is_of_fiber) {
    record_of_fibers.enter();
  } else {
    record_of_fibers.leave();
  }
}

[[gnu::no_sanitize("thread")]] void confirm_switch(void*) {}
#endif

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer must know which stack comes next, and hears afterwards that it has come.
void announce_switch(FiberContext& from, FiberContext& to) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_begin, to.stack_bytes);
}

void confirm_switch(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}
#endif

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

Fiber::Fiber(void (*entry)(void*), void* argument, std::size_t number)
    : entry_(entry), argument_(argument) {
  void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error("the simulator cannot get a stack of " + std::to_string(kStackBytes) +
                " bytes for a lane.");
  }
  memory_ = static_cast<std::byte*>(memory);
  mprotect(memory_, kGuardBytes, PROT_NONE);
  context_.stack_begin = memory_ + kGuardBytes;
  context_.stack_bytes = kStackBytes - number * kHotBytes % kPageBytes;
  context_.is_of_fiber = true;
  prepare_stack();
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory_ + kGuardBytes, kStackBytes);
#endif
  munmap(memory_, kGuardBytes + kStackBytes);
}

void Fiber::restart() {
#if defined(__SANITIZE_THREAD__)
  record_of_fibers.forget();
#endif
  prepare_stack();
}

void Fiber::prepare_stack() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory_ + kGuardBytes, kStackBytes);
  context_.fake_stack = nullptr;
#endif
  // From the top: what the fiber runs, then what pagelab_simt_begin and switch_context take.
  std::byte* const top = memory_ + kGuardBytes + context_.stack_bytes - 64;
  Start* const start = new (top) Start{entry_, argument_};
  void** stack = reinterpret_cast<void**>(top);
  *--stack = nullptr;
  *--stack = nullptr;  // two, so that a called function finds the alignment that it expects
  *--stack = start;
  *--stack = reinterpret_cast<void*>(&run_fiber);
  *--stack = reinterpret_cast<void*>(&pagelab_simt_begin);
  context_.stack_pointer = stack;
}

}  // namespace pagelab::simt
