// The checked kernels are compiled with the compiler's own -fsanitize=thread, which calls a
// function before every load and store. Here are those functions: pagelab's, in place of the
// sanitizer's runtime, which is never linked. Kernels stay plain CUDA, and every access is seen all
// the same.
//
// Source: the list of hooks is that of compiler-rt, lib/tsan/rtl/tsan_interface.h. Atomics are not
// among ours: a kernel that uses one does not link with the checks.

#include <cstddef>

#include "simulator/simt/checks.h"

using pagelab::simt::AccessKind;
using pagelab::simt::check_access;

// The place in the kernel that called a hook.
#define PAGELAB_CALLER (static_cast<const char*>(__builtin_return_address(0)) - 1)

// A load and a store of a fixed width, aligned or not, plain or volatile.
#define PAGELAB_ACCESS_HOOK(name, bytes, kind) \
  void __tsan_##name##bytes(void* address) { check_access(address, bytes, kind, PAGELAB_CALLER); }
#define PAGELAB_ACCESS_HOOKS(bytes)                               \
  PAGELAB_ACCESS_HOOK(read, bytes, AccessKind::kRead)             \
  PAGELAB_ACCESS_HOOK(write, bytes, AccessKind::kWrite)           \
  PAGELAB_ACCESS_HOOK(unaligned_read, bytes, AccessKind::kRead)   \
  PAGELAB_ACCESS_HOOK(unaligned_write, bytes, AccessKind::kWrite) \
  PAGELAB_ACCESS_HOOK(volatile_read, bytes, AccessKind::kRead)    \
  PAGELAB_ACCESS_HOOK(volatile_write, bytes, AccessKind::kWrite)

extern "C" {

PAGELAB_ACCESS_HOOKS(1)
PAGELAB_ACCESS_HOOKS(2)
PAGELAB_ACCESS_HOOKS(4)
PAGELAB_ACCESS_HOOKS(8)
PAGELAB_ACCESS_HOOKS(16)

// Whole structures. (Signatures are those that g++ itself assumes.)
void __tsan_read_range(void* address, long bytes) {
  check_access(address, static_cast<std::size_t>(bytes), AccessKind::kRead, PAGELAB_CALLER);
}
void __tsan_write_range(void* address, long bytes) {
  check_access(address, static_cast<std::size_t>(bytes), AccessKind::kWrite, PAGELAB_CALLER);
}

// What the compiler may call besides, and what says nothing about device memory.
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}

}  // extern "C"
