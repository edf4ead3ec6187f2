// The checked kernels are compiled with the compiler's own -fsanitize=thread, which calls a
// function before every load and store. Here are those functions: pagelab's, in place of the
// sanitizer's runtime, which is never linked. Kernels stay plain CUDA, and every access is seen all
// the same.
//
// Source: the list of hooks is that of compiler-rt, lib/tsan/rtl/tsan_interface.h. Atomics are not
// among ours: a kernel that uses one does not link with the checks.

#include <cstddef>

#include "simulator/simt/access_check.h"
#include "simulator/simt/counters.h"

using pagelab::simt::AccessKind;
using pagelab::simt::Alignment;
using pagelab::simt::check_any_access;
using pagelab::simt::check_closely;
using pagelab::simt::count_access;
using pagelab::simt::is_counting;
using pagelab::simt::note_plain_access;

namespace {

// While accesses are counted, the thread waits before the check for those that make the same request.
// A function of its own, so that a hook saves no registers for it.
template <std::size_t kBytes, AccessKind kKind>
[[gnu::noinline]] void count_and_check(const void* address, const void* pc) {
  if (is_counting()) count_access(address, kBytes, kKind, pc);
  check_closely<kBytes, kKind>(address, pc);
}

void count_and_check_any(const void* address, std::size_t bytes, AccessKind kind, const void* pc) {
  if (is_counting()) count_access(address, bytes, kind, pc);
  check_any_access(address, bytes, kind, pc, Alignment::kAny);
}

}  // namespace

// A load or a store of a fixed width, plain or volatile.
#define PAGELAB_HOOK(name, bytes, kind)                                  \
  void __tsan_##name##bytes(void* address) {                             \
    const void* const pc = __builtin_return_address(0);                  \
    if (note_plain_access<bytes, AccessKind::kind>(address, pc)) return; \
    count_and_check<bytes, AccessKind::kind>(address, pc);               \
  }
// The same at an address that the compiler does not expect to suit the width.
#define PAGELAB_UNALIGNED_HOOK(name, bytes, kind)                                       \
  void __tsan_unaligned_##name##bytes(void* address) {                                  \
    count_and_check_any(address, bytes, AccessKind::kind, __builtin_return_address(0)); \
  }
#define PAGELAB_HOOKS(bytes)                  \
  PAGELAB_HOOK(read, bytes, kRead)            \
  PAGELAB_HOOK(write, bytes, kWrite)          \
  PAGELAB_HOOK(volatile_read, bytes, kRead)   \
  PAGELAB_HOOK(volatile_write, bytes, kWrite) \
  PAGELAB_UNALIGNED_HOOK(read, bytes, kRead)  \
  PAGELAB_UNALIGNED_HOOK(write, bytes, kWrite)

extern "C" {

PAGELAB_HOOKS(1)
PAGELAB_HOOKS(2)
PAGELAB_HOOKS(4)
PAGELAB_HOOKS(8)
PAGELAB_HOOKS(16)

// Whole structures. (Signatures are those that g++ itself assumes.)
void __tsan_read_range(void* address, long bytes) {
  count_and_check_any(address, static_cast<std::size_t>(bytes), AccessKind::kRead,
                      __builtin_return_address(0));
}
void __tsan_write_range(void* address, long bytes) {
  count_and_check_any(address, static_cast<std::size_t>(bytes), AccessKind::kWrite,
                      __builtin_return_address(0));
}

// A function that was not inlined, with the address to which it will return.
void __tsan_func_entry(void* call) {
  if (is_counting()) pagelab::simt::note_call(call);
}
void __tsan_func_exit(void*) {
  if (is_counting()) pagelab::simt::note_return();
}

// A step from one block of the code to the next (-fsanitize-coverage=trace-pc).
void __sanitizer_cov_trace_pc() {
  if (is_counting()) pagelab::simt::note_block(__builtin_return_address(0));
}

// What the compiler may call besides, and what says nothing about device memory.
void __tsan_init() {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}

}  // extern "C"
