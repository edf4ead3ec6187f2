/// \file
/// The element types of a launch, which its launcher knows from its template, and writes into the parameters.
#pragma once

#include "gpu/kernels/paged_attention/params.h"
#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// \tparam Query   element type of the query
/// \tparam Stored  element type of keys and values
/// \param params   of the launch
/// \returns        the same with their dtypes
template <typename Query, typename Stored>
PagedAttentionParams with_dtypes(PagedAttentionParams params) {
  params.query_dtype = DTypeOf<Query>::kValue;
  params.cache_dtype = DTypeOf<Stored>::kValue;
  return params;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
