#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_decode/7_tensor_cores.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_decode_tensor_core_launchers() {
  return table_of_tensor_core_dtypes<DecodeTensorCores>();
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
