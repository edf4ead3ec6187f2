#include "gpu/kernels/cache_write/1_naive.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<CacheWriteParams> cache_write_naive_launchers() {
  return table_of_all_dtypes<CacheWriteParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return &launch_cache_write_naive<Activation, Stored>;
      });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
