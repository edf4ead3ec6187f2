#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_decode/4_split.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_decode_split_launchers() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_paged_decode_split<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
