#include "gpu/kernels/histogram/1_global_atomics.cuh"
#include "gpu/kernels/histogram/2_shared_atomics.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

std::array<Rung<HistogramParams>, 2> histogram_rungs() {
  return {{
      {"histogram/1_global_atomics", &launch_histogram_global_atomics},
      {"histogram/2_shared_atomics", &launch_histogram_shared_atomics},
  }};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
