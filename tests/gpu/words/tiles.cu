// Tiles of a warp: gpu/device/warp_tile.h, and on a GPU CUDA's own cooperative groups, which must say
// the same.

#include "gpu/device/warp_tile.h"
#include "tests/gpu/words/word_threads.h"

#if defined(__CUDACC__)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

// What both have, under the same names.
template <unsigned int kSize, typename Tile>
__device__ __forceinline__ void use_common_words(const Tile& tile,
                                                 const WordParams& params,
                                                 std::uint64_t* results) {
  const unsigned int word = drawn_word(params, 0);
  const double wide = static_cast<double>(thread_in_grid()) + 0.5;
  results[0] = tile.thread_rank();
  results[1] = tile.size();
  results[2] = tile.shfl(word, static_cast<int>(kSize / 2));
  results[3] = result_bits(tile.shfl(wide, static_cast<int>(kSize) - 1));
  results[4] = tile.shfl_up(word, 1u);
  results[5] = tile.shfl_down(word, kSize / 2);
  results[6] = tile.shfl_xor(word, kSize / 2);
  results[7] = tile.any(word % 4 == 0) ? 1 : 0;
  results[8] = tile.all(word % 4 != 0) ? 1 : 0;
  results[9] = tile.ballot(word % 2 == 0);
  results[10] = tile.match_any(word % 3);
}

// The first half of the tiles of a warp and the second go different ways, as tiles may.
template <unsigned int kSize>
__global__ void use_tiles(WordParams params) {
  __shared__ unsigned int values[1024];
  const WarpTile<kSize> tile = tiled_partition<kSize>();
  std::uint64_t* const results = results_of_thread(params);
  const unsigned int thread = thread_in_cta();
  const unsigned int word = drawn_word(params, 0);
  const float number = static_cast<float>(word % 1000) * 0.1f;
  if (thread % kLanes < kLanes / 2) {
    use_common_words<kSize>(tile, params, results);
  } else {
    use_common_words<kSize>(tile, params, results);
  }
  results[11] = tile.reduce_add(word);
  results[12] = result_bits(tile.reduce_add(number));
  results[13] = tile.reduce_min(word);
  results[14] = result_bits(tile.reduce_max(static_cast<int>(word)));
  values[thread] = word;
  tile.sync();
  results[15] = values[thread - tile.thread_rank() + (tile.thread_rank() + 1) % kSize];
  results[16] = tile.rank_in_warp();
}

#if defined(__CUDACC__)
// Results 11 to 16 as far as cooperative groups promise their bits.
template <unsigned int kSize>
__global__ void use_cooperative_groups(WordParams params) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  std::uint64_t* const results = results_of_thread(params);
  const unsigned int word = drawn_word(params, 0);
  use_common_words<kSize>(tile, params, results);
  results[11] = cg::reduce(tile, word, cg::plus<unsigned int>());
  results[12] = 0;
  results[13] = cg::reduce(tile, word, cg::less<unsigned int>());
  results[14] = result_bits(cg::reduce(tile, static_cast<int>(word), cg::greater<int>()));
  results[15] = 0;
  results[16] = tile.meta_group_rank() % (kLanes / kSize);
}
#endif

template <unsigned int kSize>
void launch_tiles(const char* name, const WordLaunch& on, const WordParams& params) {
#if defined(__CUDACC__)
  if (params.variant == 1) return launch_word<use_cooperative_groups<kSize>>(name, on, params);
#endif
  launch_word<use_tiles<kSize>>(name, on, params);
}

void launch_tiles_of_size(const char* name, const WordLaunch& on, const WordParams& params) {
  switch (params.size) {
    case 1:
      return launch_tiles<1>(name, on, params);
    case 2:
      return launch_tiles<2>(name, on, params);
    case 4:
      return launch_tiles<4>(name, on, params);
    case 8:
      return launch_tiles<8>(name, on, params);
    case 16:
      return launch_tiles<16>(name, on, params);
    default:
      return launch_tiles<32>(name, on, params);
  }
}

}  // namespace

std::vector<WordKernel> tiles() { return {{"tile", launch_tiles_of_size}}; }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
