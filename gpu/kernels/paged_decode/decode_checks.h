/// \file
/// What the launchers of rungs 3 to 6 ask of their parameters, each in one sentence.
#pragma once

#include <cstdint>
#include <string>

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

/// The parameters with the type of the query, which launchers know and kernels ask for.
/// \tparam Query  element type of the query
/// \param params  of the launch
template <typename Query>
PagedAttentionParams with_query_dtype(PagedAttentionParams params) {
  params.query_dtype = DTypeOf<Query>::kValue;
  return params;
}

/// What is read 16 bytes at a time must begin and end at a multiple of them.
/// \tparam Stored  element type of the cache
/// \param kernel   name for the message
/// \param params   of the launch
/// \throws Error   naming what does not
template <typename Stored>
void require_chunks_of_16_bytes(const char* kernel, const PagedAttentionParams& params) {
  const std::string name = kernel;
  const std::string dtype = std::string(to_string(DTypeOf<Stored>::kValue));
  if (sizeof(Stored) > 4) {
    throw Error(name + " does not support caches of " + dtype + ". Rung 5 takes them.");
  }
  constexpr std::int64_t kElements = 16 / sizeof(Stored);
  const auto require = [&](const char* field, std::int64_t value) {
    if (value % kElements == 0) return;
    throw Error(name + ": " + field + " is " + std::to_string(value) +
                ", but it must be a multiple of " + std::to_string(kElements) +
                ", which are 16 bytes of " + dtype + ". Rung 5 takes any.");
  };
  const auto require_head = [&](const char* field, std::int64_t value) {
    require(field, value);
    if (value >= kElements && value <= 256) return;
    throw Error(name + ": " + field + " is " + std::to_string(value) + ", but it must be from " +
                std::to_string(kElements) + " to 256. Rung 5 takes any.");
  };
  require_head("head_size", params.head_size);
  require_head("head_size_v", params.head_size_v);
  require("key_strides.block", params.key_strides.block);
  require("key_strides.token", params.key_strides.token);
  require("key_strides.head", params.key_strides.head);
  require("value_strides.block", params.value_strides.block);
  require("value_strides.token", params.value_strides.token);
  require("value_strides.head", params.value_strides.head);
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  };
  if (is_aligned(params.key_cache) && is_aligned(params.value_cache)) return;
  throw Error(name + ": " + (is_aligned(params.key_cache) ? "value_cache" : "key_cache") +
              " does not begin at a multiple of 16 bytes. Rung 5 takes any address.");
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
