#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"

// After those, which say first that the targets' namespaces are inline.
#include "benchmarks/simulator/barrier_kernels.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// One thread block after the other: every thread meets all others `rounds` times.
__global__ void meet_at_barrier(MeetParams params) {
  for (int round = 0; round < params.rounds; ++round) __syncthreads();
}

// The lanes of a warp hand a number round.
__global__ void shuffle_round(MeetParams params) {
  int number = static_cast<int>(threadIdx.x);
  for (int round = 0; round < params.rounds; ++round) {
    number = __shfl_xor_sync(0xffffffffu, number, 1);
  }
  if (number < 0) __syncthreads();  // never; it keeps the number in use
}

void launch_barriers(const MeetParams& params) {
  launch("meet_at_barrier", params.ctas, params.threads, meet_at_barrier, params);
}

void launch_shuffles(const MeetParams& params) {
  launch("shuffle_round", params.ctas, params.threads, shuffle_round, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
