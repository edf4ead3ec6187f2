#include "gpu/kernels/flex/1_block_mask.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<FlexAttentionParams> flex_block_mask_launchers() {
  return table_of_all_dtypes<FlexAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_flex_of_variant<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
