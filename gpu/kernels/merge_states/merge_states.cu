#include "gpu/kernels/launchers.h"
#include "gpu/kernels/merge_states/1_naive.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

Rung<MergeStatesParams> merge_states_rung() {
  return {"merge_states/1_naive", &launch_merge_states_naive};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
