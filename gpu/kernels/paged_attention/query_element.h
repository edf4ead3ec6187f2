/// \file
/// A query element as a float, of a type that is known at run time. A query is read once a row and a key
/// thousands of times, so a kernel is compiled for each type of the cache, and not for each of the query too.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// query[index], counted through the whole array, of the type params.query_dtype.
__device__ inline float query_element(const PagedAttentionParams& params, std::int64_t index) {
  switch (params.query_dtype) {
    case DType::kFloat64:
      return load_as<float>(static_cast<const double*>(params.query)[index]);
    case DType::kFloat16:
      return load_as<float>(static_cast<const Float16*>(params.query)[index]);
    case DType::kBFloat16:
      return load_as<float>(static_cast<const BFloat16*>(params.query)[index]);
    default:
      return static_cast<const float*>(params.query)[index];
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
