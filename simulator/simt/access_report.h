/// \file
/// The sentences about wrong accesses: what the thread did, to which element of which array, at which
/// line, and what the likely cause is. Each leaves the kernel.
#pragma once

#include <cstddef>

#include "simulator/simt/checks.h"
#include "simulator/simt/memory_region.h"
#include "simulator/simt/race_check.h"

namespace pagelab::simt {

/// An access of the running thread.
struct Access {
  const std::byte* address = nullptr;   ///< first byte
  std::size_t bytes = 0;                ///< elements are counted in this unit
  AccessKind kind = AccessKind::kRead;  ///< what it does
  const void* pc = nullptr;             ///< a return address
};

/// It goes through a null pointer.
[[noreturn]] void fail_for_null(const Access& access);
/// It touches bytes that it may not touch.
/// \param access  wrong
/// \param region  that holds its first byte
/// \param state   of its first wrong byte
[[noreturn]] void fail_for_state(const Access& access, const MemoryRegion& region, ByteState state);
/// Its address does not suit its width.
/// \param access  wrong
/// \param region  that holds its first byte
[[noreturn]] void fail_for_alignment(const Access& access, const MemoryRegion& region);
/// It races.
/// \param access    the later one
/// \param region    that holds its first byte
/// \param conflict  the earlier one
[[noreturn]] void fail_for_race(const Access& access,
                                const MemoryRegion& region,
                                const Conflict& conflict);
/// An asynchronous copy goes to global memory.
/// \param access  the copy
[[noreturn]] void fail_for_destination(const Access& access);

}  // namespace pagelab::simt
