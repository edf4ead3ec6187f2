#include "gpu/kernels/launchers.h"
#include "gpu/kernels/unified/1_two_dimensional.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> unified_two_dimensional_launchers() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_unified_two_dimensional<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
