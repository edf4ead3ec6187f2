/// \file
/// Asynchronous copies from global to shared memory, as `cp.async` makes them: begun by a thread, put
/// into groups, and complete when the thread has waited for their group, not before. The kernel's
/// words are in gpu/device/cp_async.h.
///
/// Abstracted: the source is read when the copy begins, the destination written at the wait. A GPU
/// does both at some time in between.
///
/// Source: PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", `cp.async`.
#pragma once

#include <cstddef>

namespace pagelab::simt {

/// Begins a copy of the running thread.
/// \param shared        destination, in shared memory; a multiple of `bytes`
/// \param global        source; a multiple of `bytes`
/// \param bytes         4, 8 or 16
/// \param source_bytes  so many are read, the rest becomes zero; at most `bytes`
/// \param pc            where the kernel called
void begin_copy(
    void* shared, const void* global, std::size_t bytes, std::size_t source_bytes, const void* pc);

/// The copies that the running thread has begun since the last commit become a group.
void commit_copies();

/// Waits until at most so many of the running thread's latest groups are under way.
/// \param num_groups  0: all are complete
/// \param pc          where the kernel called
void wait_for_copies(unsigned int num_groups, const void* pc);

}  // namespace pagelab::simt
