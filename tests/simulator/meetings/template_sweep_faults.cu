// S7: a template kernel with 8 warps, whose barrier cured a race where it was tried, and which in one
// configuration only 4 warps reach.

#include "tests/simulator/faults/fault_kernel.h"
#include "tests/simulator/meetings/meeting_faults.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// y[r] = sum of the two halves of row r; each warp has 64 of kNumColumns columns. Few columns need no
// second warp and therefore no barrier; with 256, four warps have none.
template <int kNumColumns, bool kIsSound>
__device__ void sum_columns(FaultParams params) {
  __shared__ float partial[8];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool has_columns = warp * 64 < kNumColumns;
  if (kNumColumns <= 64) {
    if (threadIdx.x == 0) params.y[0] = 1.0f;
    return;
  }
  if (has_columns) {
    if (lane == 0) partial[warp] = 1.0f;
    if (!kIsSound) __syncthreads();  // <- sum_columns_256
  }
  if (kIsSound) __syncthreads();
  float sum = 0.0f;
  if (threadIdx.x == 0) {
    for (int other = 0; other < kNumColumns / 64; ++other) sum += partial[other];
    params.y[0] = sum;
  }
}

#define PAGELAB_SUM_OF(columns)                               \
  template <bool kIsSound>                                    \
  __global__ void sum_columns_##columns(FaultParams params) { \
    sum_columns<columns, kIsSound>(params);                   \
  }
PAGELAB_SUM_OF(64)
PAGELAB_SUM_OF(256)
PAGELAB_SUM_OF(512)
#undef PAGELAB_SUM_OF

}  // namespace

std::vector<Fault> template_sweep_faults() {
  return {
      PAGELAB_FAULT(sum_columns_64, {.cta = 256}),
      PAGELAB_FAULT(sum_columns_256, {.cta = 256}),
      PAGELAB_FAULT(sum_columns_512, {.cta = 256}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
