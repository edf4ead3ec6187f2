/// \file
/// What the tensor-core rungs of paged_prefill ask of their parameters, and how they find the kernel that
/// was compiled for a size.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/cache/cache_element.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Whether tensor cores multiply these: a 16-bit query with keys and values of the same type, or of fp8, which
/// become that type exactly.
template <typename Query, typename Stored>
inline constexpr bool kTensorCoresTake = (kIsSame<Query, Float16> ||
                                          kIsSame<Query, BFloat16>)&&(kIsSame<Query, Stored> ||
                                                                      kIsFp8<Stored>);

/// Refuses types that tensor cores do not multiply.
/// \param kernel  name for the message
/// \param query   dtype of the query
/// \param cache   dtype of keys and values
/// \throws Error  always
[[noreturn]] inline void refuse_dtypes(const char* kernel, DType query, DType cache) {
  throw Error(
      std::string(kernel) + ": the query is " + std::string(to_string(query)) + " and the cache " +
      std::string(to_string(cache)) +
      ", but tensor cores multiply a float16 or bfloat16 query with a cache of the same type "
      "or of fp8. paged_prefill/1_tiled takes every type.");
}

/// \param kernel     name for messages
/// \param params     what it gets
/// \throws Error     unless heads are multiples of 16 elements up to 256, and every row of the cache begins at
///                   a multiple of 16 elements
inline void require_tensor_core_prefill(const char* kernel, const PagedAttentionParams& params) {
  const auto require_multiple = [&](const char* field, std::int64_t value) {
    constexpr std::int64_t kMultiple = 16;
    if (value % kMultiple == 0) return;
    throw Error(std::string(kernel) + ": " + field + " is " + std::to_string(value) +
                ", but it must be a multiple of 16. paged_prefill/1_tiled takes every number.");
  };
  require_range(kernel, "head_size", params.head_size, 16, 256);
  require_range(kernel, "head_size_v", params.head_size_v, 16, 256);
  require_multiple("head_size", params.head_size);
  require_multiple("head_size_v", params.head_size_v);
  require_multiple("key_strides.block", params.key_strides.block);
  require_multiple("key_strides.token", params.key_strides.token);
  require_multiple("key_strides.head", params.key_strides.head);
  require_multiple("value_strides.block", params.value_strides.block);
  require_multiple("value_strides.token", params.value_strides.token);
  require_multiple("value_strides.head", params.value_strides.head);
  const auto require_aligned = [&](const char* field, const void* address) {
    if (reinterpret_cast<std::uintptr_t>(address) % 16 == 0) return;
    throw Error(std::string(kernel) + ": " + field +
                " does not begin at a multiple of 16 bytes, in which the kernel reads it.");
  };
  require_aligned("query", params.query);
  require_aligned("key_cache", params.key_cache);
  require_aligned("value_cache", params.value_cache);
}

/// Calls `launch_sized` with the smallest head size that a kernel is compiled for and that both head sizes fit
/// into: 64, 128 or 256. Elements past the end are zeros, which a tensor core does not add.
/// \param params        the step
/// \param launch_sized  generic callable, called with a value whose `kHead` is the size
template <typename LaunchSized>
void with_head_capacity(const PagedAttentionParams& params, const LaunchSized& launch_sized) {
  const std::int64_t larger =
      params.head_size > params.head_size_v ? params.head_size : params.head_size_v;
  if (larger <= 64) {
    launch_sized.template operator()<64>();
  } else if (larger <= 128) {
    launch_sized.template operator()<128>();
  } else {
    launch_sized.template operator()<256>();
  }
}

/// The launchers of a tensor-core rung: for the types that it takes, and for others a sentence that says so.
/// \tparam Rung  has a `kName` and a static `launch<Query, Stored>(params)`
template <typename Rung>
KernelTable<PagedAttentionParams> table_of_tensor_core_dtypes() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        if constexpr (kTensorCoresTake<Activation, Stored>) {
          return &Rung::template launch<Activation, Stored>;
        } else {
          return +[](const PagedAttentionParams&) {
            refuse_dtypes(Rung::kName, DTypeOf<Activation>::kValue, DTypeOf<Stored>::kValue);
          };
        }
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
