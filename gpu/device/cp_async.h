/// \file
/// `cp.async`: a copy from global to shared memory that does not pass through registers, and during
/// which the thread goes on. A thread begins copies, closes a group of them, and later waits until at
/// most so many groups are under way; then the older ones have arrived, for this thread. Others see
/// them after the next __syncthreads().
///
///     cp_async<16>(&tile[next][i], &global[i]);   // begin
///     cp_async_commit();                          // these belong together
///     … work on tile[current] …
///     cp_async_wait<0>();                         // none under way: mine have arrived
///     __syncthreads();                            // everybody's have
///
/// Abstracted in the simulator: the source is read when the copy begins, and the destination written
/// at the wait, where a GPU does both at some time in between. A destination that is touched before
/// the wait is an error there.
///
/// Source: PTX ISA, `cp.async`, `cp.async.commit_group`, `cp.async.wait_group`.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

#if !defined(__CUDACC__)
#include "simulator/simt/cp_async.h"
#include "simulator/simt/not_hooked.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: PTX. `.ca` keeps a copy in the L1 cache, `.cg`, which exists for 16 bytes only, does not.
template <int kBytes>
__device__ __forceinline__ void cp_async(void* shared,
                                         const void* global,
                                         int source_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  const std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                 "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global),
                 "n"(kBytes), "r"(source_bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kNumGroups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNumGroups) : "memory");
}

#else

/// Begins a copy of this thread.
/// \tparam kBytes       4, 8 or 16
/// \param shared        destination in shared memory, a multiple of kBytes
/// \param global        source, a multiple of kBytes
/// \param source_bytes  so many are read, the rest of the destination becomes zero
template <int kBytes>
[[gnu::noinline, PAGELAB_NOT_HOOKED]] void cp_async(void* shared,
                                                    const void* global,
                                                    int source_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
  simt::begin_copy(shared, global, kBytes, static_cast<std::size_t>(source_bytes),
                   __builtin_return_address(0));
}

/// Closes a group: the copies that this thread has begun since the last one.
inline void cp_async_commit() { simt::commit_copies(); }

/// Waits until at most kNumGroups of this thread's latest groups are under way.
/// \tparam kNumGroups  0: all copies in groups have arrived
template <int kNumGroups>
[[gnu::noinline, PAGELAB_NOT_HOOKED]] void cp_async_wait() {
  static_assert(kNumGroups >= 0, "a number of groups");
  simt::wait_for_copies(kNumGroups, __builtin_return_address(0));
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
