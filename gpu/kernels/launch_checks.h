/// \file
/// What launchers of the teaching kernels ask of their parameters, each in one sentence. A launcher
/// checks once, so that the kernel need not.
#pragma once

#include <cstdint>
#include <string>

#include "reference/contract/error.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// Lanes of a warp: the threads that a GPU runs in step.
inline constexpr unsigned int kWarpSize = 32;
/// The most threads of a thread block.
/// \source CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
inline constexpr unsigned int kMaxThreadsPerCta = 1024;
/// All lanes of a warp, as the mask that a shuffle takes.
inline constexpr unsigned int kWholeWarp = 0xffffffffu;

inline namespace PAGELAB_TARGET {

/// Thread blocks of these kernels are whole warps: a shuffle needs all 32 lanes.
/// \param kernel           name for the message
/// \param threads_per_cta  threads of a thread block
/// \throws Error           unless it is a multiple of 32 from 32 to 1024
inline void require_whole_warps(const char* kernel, unsigned int threads_per_cta) {
  const bool is_whole = threads_per_cta % kWarpSize == 0;
  if (is_whole && threads_per_cta >= kWarpSize && threads_per_cta <= kMaxThreadsPerCta) return;
  throw Error(std::string(kernel) + ": threads_per_cta is " + std::to_string(threads_per_cta) +
              ", but it must be a multiple of 32 from 32 to 1024.");
}

/// What is wrong with a number; empty if nothing is.
/// \param field   what the number is called
/// \param value   the number
/// \param least   smallest allowed
/// \param most    largest allowed
inline std::string refusal_of_range(const char* field,
                                    std::int64_t value,
                                    std::int64_t least,
                                    std::int64_t most) {
  if (value >= least && value <= most) return "";
  return std::string(field) + " is " + std::to_string(value) + ", but it must be from " +
         std::to_string(least) + " to " + std::to_string(most) + ".";
}

/// \param kernel   name for the message
/// \param refusal  why it does not take its parameters; empty if it does
/// \throws Error   unless it does
inline void require_taken(const char* kernel, const std::string& refusal) {
  if (!refusal.empty()) throw Error(std::string(kernel) + ": " + refusal);
}

/// \param kernel  name for the message
/// \param field   what the number is called
/// \param value   the number
/// \param least   smallest allowed
/// \param most    largest allowed
/// \throws Error  unless least ≤ value ≤ most
inline void require_range(const char* kernel,
                          const char* field,
                          std::int64_t value,
                          std::int64_t least,
                          std::int64_t most) {
  require_taken(kernel, refusal_of_range(field, value, least, most));
}

/// \param kernel   name for the message
/// \param field    what the array is called
/// \param array    its device address
/// \param length   elements that the kernel will touch
/// \throws Error   if there are some and the address is null
inline void require_array(const char* kernel,
                          const char* field,
                          const void* array,
                          std::int64_t length) {
  if (array != nullptr || length == 0) return;
  throw Error(std::string(kernel) + ": " + field + " is a null pointer, but the kernel uses " +
              std::to_string(length) + " elements of it. Was the array allocated on the device?");
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
