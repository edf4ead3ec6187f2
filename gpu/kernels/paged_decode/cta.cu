#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_decode/3_cta.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_decode_cta_launchers() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_paged_decode_cta<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
