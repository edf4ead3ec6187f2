#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_prefill/3_pipelined.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_prefill_pipelined_launchers() {
  return table_of_tensor_core_dtypes<PrefillPipelined>();
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
