#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_prefill/2_tensor_cores.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_prefill_tensor_core_launchers() {
  return table_of_tensor_core_dtypes<PrefillTensorCores>();
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
