#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/mma.h"

// After those, which say first that the targets' namespaces are inline.
#include "tests/gpu/tensor_core/mma_tiles.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

constexpr unsigned int kThreadsPerCta = 128;

// Two elements in one register, the first in the lower half.
__device__ std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) {
  return static_cast<std::uint32_t>(first) | static_cast<std::uint32_t>(second) << 16;
}

template <int kDepth, bool kIsBFloat16>
__device__ void multiply(float (&d)[4],
                         const std::uint32_t (&a)[kDepth / 4],
                         const std::uint32_t (&b)[kDepth / 8],
                         const float (&c)[4]) {
  if constexpr (kDepth == 16 && kIsBFloat16) {
    mma_m16n8k16_bf16(d, a, b, c);
  } else if constexpr (kDepth == 16) {
    mma_m16n8k16_f16(d, a, b, c);
  } else if constexpr (kIsBFloat16) {
    mma_m16n8k8_bf16(d, a, b, c);
  } else {
    mma_m16n8k8_f16(d, a, b, c);
  }
}

// Warp w multiplies tile w.
template <int kDepth, bool kIsBFloat16>
__global__ void multiply_tiles(test::MmaTilesParams params) {
  const int tile = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (tile >= params.num_tiles) return;
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int pair = static_cast<int>(threadIdx.x) % 4;
  const std::uint16_t* tile_a = params.a + static_cast<std::int64_t>(tile) * 16 * kDepth;
  const std::uint16_t* tile_b = params.b + static_cast<std::int64_t>(tile) * kDepth * 8;
  const float* tile_c = params.c + static_cast<std::int64_t>(tile) * 16 * 8;
  float* tile_d = params.d + static_cast<std::int64_t>(tile) * 16 * 8;

  // Step 1: this lane's fragments.
  std::uint32_t a[kDepth / 4];
  std::uint32_t b[kDepth / 8];
  for (int half = 0; half < kDepth / 8; ++half) {
    const int k = 8 * half + 2 * pair;
    const std::uint16_t* upper_row = tile_a + group * kDepth + k;
    const std::uint16_t* lower_row = upper_row + 8 * kDepth;
    a[2 * half] = pair_of(upper_row[0], upper_row[1]);
    a[2 * half + 1] = pair_of(lower_row[0], lower_row[1]);
    b[half] = pair_of(tile_b[k * 8 + group], tile_b[(k + 1) * 8 + group]);
  }
  const int upper = group * 8 + 2 * pair;
  const int lower = upper + 8 * 8;
  const float c[4] = {tile_c[upper], tile_c[upper + 1], tile_c[lower], tile_c[lower + 1]};

  // Step 2: the product.
  float d[4];
  multiply<kDepth, kIsBFloat16>(d, a, b, c);

  // Step 3: this lane's results.
  tile_d[upper] = d[0];
  tile_d[upper + 1] = d[1];
  tile_d[lower] = d[2];
  tile_d[lower + 1] = d[3];
}

}  // namespace

void mma_tiles(const test::MmaTilesParams& params) {
  const unsigned int num_ctas = ctas_for(std::int64_t{params.num_tiles} * 32, kThreadsPerCta);
  const auto launch_tiles = [&](void (*kernel)(test::MmaTilesParams)) {
    launch("mma_tiles", num_ctas, kThreadsPerCta, kernel, params);
  };
  if (params.depth == 16) {
    launch_tiles(params.is_bfloat16 ? multiply_tiles<16, true> : multiply_tiles<16, false>);
  } else {
    launch_tiles(params.is_bfloat16 ? multiply_tiles<8, true> : multiply_tiles<8, false>);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
