/// \file
/// What a checked launch asks of the checks: every access of the kernel goes through check_access,
/// and the launch says when thread blocks begin and end and which threads have met. From that the
/// checks know of every byte of global and shared memory whether it belongs to an array, whether it
/// was written, and who touched it last without a barrier in between. What is wrong is said in one
/// sentence, and the kernel is left (`fail` in running_lane.h).
///
/// A checked launch runs on one host thread from its beginning to its end, and no other checked
/// launch runs at the same time: nothing here is locked.
///
/// Not seen: accesses outside device memory and shared memory (parameters, locals; a host array that
/// a kernel was handed by mistake), a wrong index that lands inside another array, what `memcpy`
/// copies, a race with one of three lanes that read, when the other two have met in a `__syncwarp` of a
/// part of the warp, and races of thread blocks between which so many barriers lie that stamps have begun
/// anew (happens_before.h: minutes of one launch). Nothing but barriers, `__syncwarp` and the order of
/// launches is taken for an order: not atomics, not fences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/simt/source_line.h"

namespace pagelab::simt {

/// What an access does.
enum class AccessKind : std::uint8_t {
  kRead,     ///< loads
  kWrite,    ///< stores
  kAtomic,   ///< reads and writes in one; never races with its like
  kArrival,  ///< the store of an asynchronous copy, at the wait that ends it
};

/// A checked launch begins. Call it on the host thread that runs the launch.
/// \throws Error  if the program's symbol table, which names the shared arrays, cannot be read
void begin_checked_launch();

/// Says where dynamic shared memory lies, after begin_checked_launch. Without a call there is none.
/// \param begin  first byte, kSharedGuardBytes of unused memory before it
/// \param bytes  of this launch; kSharedGuardBytes of unused memory follow
void set_dynamic_shared(std::byte* begin, std::size_t bytes);

/// Unused bytes on both sides of dynamic shared memory, so that an index a little off is seen.
inline constexpr std::size_t kSharedGuardBytes = 4096;

/// A thread block begins, blockIdx and blockDim are set: shared memory holds nothing but poison.
void begin_thread_block();
/// It ends, or is abandoned after a mistake. Call it in either case: accesses after it, of code that
/// the host runs, are not checked.
void end_thread_block();

/// Bytes of the static shared arrays that the thread block has written to: what the kernel has, as far
/// as it was used. Call it before end_thread_block.
std::size_t static_shared_bytes();

/// All threads of the thread block have met at a barrier.
void all_threads_met();
/// Lanes of one warp have met at a `__syncwarp`. (Shuffles and votes order no memory.)
/// \param first_thread_of_warp  flat index of lane 0
/// \param mask                  the lanes that met
void lanes_met(unsigned int first_thread_of_warp, unsigned int mask);

/// Checks an access of the running thread and notes it. If it is wrong, the kernel is left and its
/// launch throws. Outside a checked launch nothing happens.
/// \param address  first byte
/// \param bytes    of one element, or of a structure; 2, 4, 8 and 16 need an address that is a
///                 multiple of them
/// \param kind     what it does
/// \param pc       an address within the instruction, for the source line
void check_access(const void* address, std::size_t bytes, AccessKind kind, const void* pc);

/// Bytes that an asynchronous copy is going to write: until its kArrival, nobody may touch them.
/// \param address  first byte
/// \param bytes    of the copy
/// \param pc       where the copy was begun
void mark_in_flight(const void* address, std::size_t bytes, const void* pc);

}  // namespace pagelab::simt
