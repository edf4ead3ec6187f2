// The checked kernels are compiled with the compiler's own -fsanitize=thread, which calls a
// function before every load and store. Here are those functions: pagelab's, in place of the
// sanitizer's runtime, which is never linked. Kernels stay plain CUDA, and every access is seen all
// the same.
//
// Source: the list of hooks is that of compiler-rt, lib/tsan/rtl/tsan_interface.h. Atomics are not
// among ours: a kernel that uses one does not link with the checks.

#include <cstddef>

#include "simulator/simt/access_check.h"

using pagelab::simt::AccessKind;
using pagelab::simt::check_access;

// A load and a store of a fixed width, aligned or not, plain or volatile.
#define PAGELAB_ACCESS_HOOKS(bytes)                                                             \
  void __tsan_read##bytes(void* address) { check_access(address, bytes, AccessKind::kRead); }   \
  void __tsan_write##bytes(void* address) { check_access(address, bytes, AccessKind::kWrite); } \
  void __tsan_unaligned_read##bytes(void* address) {                                            \
    check_access(address, bytes, AccessKind::kRead);                                            \
  }                                                                                             \
  void __tsan_unaligned_write##bytes(void* address) {                                           \
    check_access(address, bytes, AccessKind::kWrite);                                           \
  }                                                                                             \
  void __tsan_volatile_read##bytes(void* address) {                                             \
    check_access(address, bytes, AccessKind::kRead);                                            \
  }                                                                                             \
  void __tsan_volatile_write##bytes(void* address) {                                            \
    check_access(address, bytes, AccessKind::kWrite);                                           \
  }

extern "C" {

PAGELAB_ACCESS_HOOKS(1)
PAGELAB_ACCESS_HOOKS(2)
PAGELAB_ACCESS_HOOKS(4)
PAGELAB_ACCESS_HOOKS(8)
PAGELAB_ACCESS_HOOKS(16)

// Whole structures. (Signatures are those that g++ itself assumes.)
void __tsan_read_range(void* address, long bytes) {
  check_access(address, static_cast<std::size_t>(bytes), AccessKind::kRead);
}
void __tsan_write_range(void* address, long bytes) {
  check_access(address, static_cast<std::size_t>(bytes), AccessKind::kWrite);
}

// What the compiler may call besides, and what says nothing about device memory.
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}

}  // extern "C"
