#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_decode/6_pipelined.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> paged_decode_pipelined_launchers() {
  return table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_paged_decode_pipelined<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
