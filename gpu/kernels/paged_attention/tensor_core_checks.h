/// \file
/// What the tensor-core rungs of paged_prefill and paged_decode ask of their parameters, and how they find
/// the kernel that was compiled for a size.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
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

/// Why the tensor-core rungs do not take a launch.
/// \param params  of the launch, with its types
/// \returns       empty if they do: for types that tensor cores multiply, heads that are multiples of 16 elements
///                up to 256, and a cache whose rows all begin at a multiple of 16 elements
inline std::string refusal_of_tensor_cores(const PagedAttentionParams& params) {
  const DType query = params.query_dtype;
  const DType cache = params.cache_dtype;
  const bool is_16_bit = query == DType::kFloat16 || query == DType::kBFloat16;
  if (!is_16_bit || (cache != query && !is_fp8(cache))) {
    return "the query is " + std::string(to_string(query)) + " and the cache " +
           std::string(to_string(cache)) +
           ", but tensor cores multiply a float16 or bfloat16 query with a cache of the same type "
           "or of fp8. Earlier rungs take every type.";
  }
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
  for (const auto& head : {numbers[0], numbers[1]}) {
    const std::string refusal = refusal_of_range(head.field, head.value, 16, 256);
    if (!refusal.empty()) return refusal;
  }
  for (const auto& number : numbers) {
    if (number.value % 16 == 0) continue;
    return std::string(number.field) + " is " + std::to_string(number.value) +
           ", but it must be a multiple of 16. Earlier rungs take every number.";
  }
  const struct {
    const char* field;
    const void* address;
  } arrays[] = {{"query", params.query},
                {"key_cache", params.key_cache},
                {"value_cache", params.value_cache}};
  for (const auto& array : arrays) {
    if (reinterpret_cast<std::uintptr_t>(array.address) % 16 == 0) continue;
    return std::string(array.field) +
           " does not begin at a multiple of 16 bytes, in which the kernel reads it.";
  }
  return "";
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
          return +[](const PagedAttentionParams& params) {
            require_taken(Rung::kName,
                          refusal_of_tensor_cores(with_dtypes<Activation, Stored>(params)));
          };
        }
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
