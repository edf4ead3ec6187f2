#include "gpu/kernels/launchers.h"
#include "gpu/kernels/unified/2_segmented.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> unified_segmented_launchers() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_unified_segmented<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
