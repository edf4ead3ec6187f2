/// \file
/// What the launchers of rungs 3 to 7 ask of their parameters, each in one sentence.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/contract/error.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// \param kernel   name for the message
/// \param params   of the launch
/// \param needed   bytes of dynamic shared memory that a thread block needs
/// \param advice   a sentence on what to do instead
/// \throws Error   if a thread block may not have that many
inline void require_shared_bytes(const char* kernel,
                                 const PagedAttentionParams& params,
                                 std::int64_t needed,
                                 const std::string& advice) {
  if (needed <= params.max_shared_bytes) return;
  throw Error(std::string(kernel) + " needs " + std::to_string(needed) +
              " bytes of shared memory a thread block (max_seq_len " +
              std::to_string(params.max_seq_len) + ", head_size " +
              std::to_string(params.head_size) + "), but " +
              std::to_string(params.max_shared_bytes) + " are available. " + advice);
}

/// Lengths that the host knows, and which decide the size of a launch.
/// \param kernel  name for the message
/// \param params  of the launch
/// \throws Error  if max_seq_len is no length, or the table has no room for it
inline void require_max_seq_len(const char* kernel, const PagedAttentionParams& params) {
  constexpr std::int64_t kLongest = 2147483647;
  if (params.max_seq_len < 0 || params.max_seq_len > kLongest) {
    throw Error(std::string(kernel) + ": max_seq_len is " + std::to_string(params.max_seq_len) +
                ", but it must be from 0 to " + std::to_string(kLongest) + ".");
  }
  const std::int64_t capacity = params.max_blocks_per_req * params.block_size;
  if (params.max_seq_len <= capacity) return;
  throw Error(std::string(kernel) + ": max_seq_len is " + std::to_string(params.max_seq_len) +
              ", but a row of the block table has room for " + std::to_string(capacity) +
              " tokens (" + std::to_string(params.max_blocks_per_req) + " blocks of " +
              std::to_string(params.block_size) + ").");
}

/// What is read 16 bytes at a time must begin and end at a multiple of them.
/// \param params  of the launch, with its types
/// \returns       what does not; empty if all does
inline std::string refusal_of_chunks(const PagedAttentionParams& params) {
  const std::string dtype = std::string(to_string(params.cache_dtype));
  const std::int64_t bytes = bytes_of(params.cache_dtype);
  if (bytes > 4) return "caches of " + dtype + " are not supported. Rung 5 takes them.";
  const std::int64_t elements = 16 / bytes;
  const struct {
    const char* field;
    std::int64_t value;
  } numbers[] = {{"head_size", params.head_size},
                 {"head_size_v", params.head_size_v},
                 {"key_strides.block", params.key_strides.block},
                 {"key_strides.token", params.key_strides.token},
                 {"key_strides.head", params.key_strides.head},
                 {"value_strides.block", params.value_strides.block},
                 {"value_strides.token", params.value_strides.token},
                 {"value_strides.head", params.value_strides.head}};
  for (const auto& number : numbers) {
    if (number.value % elements == 0) continue;
    return std::string(number.field) + " is " + std::to_string(number.value) +
           ", but it must be a multiple of " + std::to_string(elements) +
           ", which are 16 bytes of " + dtype + ". Rung 5 takes any.";
  }
  for (const auto& head : {numbers[0], numbers[1]}) {
    const std::string refusal = refusal_of_range(head.field, head.value, elements, 256);
    if (!refusal.empty()) return refusal + " Rung 5 takes any.";
  }
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  };
  if (is_aligned(params.key_cache) && is_aligned(params.value_cache)) return "";
  return std::string(is_aligned(params.key_cache) ? "value_cache" : "key_cache") +
         " does not begin at a multiple of 16 bytes. Rung 5 takes any address.";
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
