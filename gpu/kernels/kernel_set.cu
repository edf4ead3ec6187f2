// The kernels of the target that this file is compiled for.

#include "gpu/kernels/kernel_set.h"

#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelSet kernel_set() {
  return {
      .cache_write_naive = cache_write_naive_launchers(),
      .paged_attention_naive = paged_attention_naive_launchers(),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
