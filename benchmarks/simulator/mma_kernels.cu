#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/mma.h"

// After those, which say first that the targets' namespaces are inline.
#include "benchmarks/simulator/mma_kernels.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Each D is the next C. Elements of A and B are of about 1, different from lane to lane.
__global__ void multiply_rounds(MmaRoundsParams params) {
  const std::uint32_t odd_bits = 0x00010001u * (threadIdx.x % 32);
  const std::uint32_t a[4] = {0x3f803f80u + odd_bits, 0xbf803f80u + odd_bits,
                              0x3f803f00u + odd_bits, 0x3f80bf80u + odd_bits};
  const std::uint32_t b[2] = {0xbf803f80u + odd_bits, 0x3f80bf00u + odd_bits};
  float sums[4] = {};
  for (int round = 0; round < params.rounds; ++round) mma_m16n8k16_bf16(sums, a, b, sums);
  params.sums[blockIdx.x * blockDim.x + threadIdx.x] = sums[0];
}

void launch_mma_rounds(const MmaRoundsParams& params) {
  launch("multiply_rounds", params.ctas, params.threads, multiply_rounds, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
