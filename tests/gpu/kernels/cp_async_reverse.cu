#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"

// After those, which say first that the targets' namespaces are inline.
#include "tests/gpu/kernels/cp_async_reverse.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// Begins this thread's copy of one tile; past the end of x nothing is read, and zeros arrive.
template <int kBytes>
__device__ void begin_tile(const test::CpAsyncReverseParams& params,
                           std::uint32_t* tile,
                           int tile_idx) {
  constexpr int kWords = kBytes / 4;
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int first = (tile_idx * threads + thread) * kWords;
  const int words_left = params.num_words - first;
  const int words = words_left < 0 ? 0 : (words_left < kWords ? words_left : kWords);
  const std::uint32_t* source = words == 0 ? params.x : params.x + first;
  cp_async<kBytes>(tile + thread * kWords, source, words * 4);
}

template <int kBytes>
__global__ void reverse_tiles(test::CpAsyncReverseParams params) {
  constexpr int kWords = kBytes / 4;
  const int threads = static_cast<int>(blockDim.x);
  const int words_per_tile = threads * kWords;
  const int num_tiles = (params.num_words + words_per_tile - 1) / words_per_tile;
  std::uint32_t* tiles = dynamic_shared_memory<std::uint32_t>();  // [2][words_per_tile]
  begin_tile<kBytes>(params, tiles, 0);
  cp_async_commit();
  for (int tile_idx = 0; tile_idx < num_tiles; ++tile_idx) {
    std::uint32_t* current = tiles + tile_idx % 2 * words_per_tile;
    std::uint32_t* next = tiles + (tile_idx + 1) % 2 * words_per_tile;
    if (tile_idx + 1 < num_tiles) begin_tile<kBytes>(params, next, tile_idx + 1);
    cp_async_commit();
    if (params.waits) cp_async_wait<1>();  // all but the next tile have arrived
    __syncthreads();
    for (int word = static_cast<int>(threadIdx.x); word < words_per_tile; word += threads) {
      const std::uint32_t value = current[words_per_tile - 1 - word];  // here
      params.y[tile_idx * words_per_tile + word] = value;
    }
    __syncthreads();
  }
}

}  // namespace

void cp_async_reverse(const test::CpAsyncReverseParams& params, unsigned int threads) {
  const std::size_t shared_bytes = std::size_t{2} * threads * params.bytes_per_copy;
  switch (params.bytes_per_copy) {
    case 4:
      return launch("cp_async_reverse", 1, threads, reverse_tiles<4>, params, shared_bytes);
    case 8:
      return launch("cp_async_reverse", 1, threads, reverse_tiles<8>, params, shared_bytes);
    default:
      return launch("cp_async_reverse", 1, threads, reverse_tiles<16>, params, shared_bytes);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
