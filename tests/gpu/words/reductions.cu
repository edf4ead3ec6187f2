// __reduce_add_sync, _min, _max, _and, _or, _xor.

#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

__device__ __forceinline__ void reduce(unsigned int mask,
                                       unsigned int value,
                                       std::uint64_t* results) {
  const int with_sign = static_cast<int>(value);
  results[0] = __reduce_add_sync(mask, value);
  results[1] = __reduce_min_sync(mask, value);
  results[2] = __reduce_max_sync(mask, value);
  results[3] = __reduce_and_sync(mask, value);
  results[4] = __reduce_or_sync(mask, value);
  results[5] = __reduce_xor_sync(mask, value);
  results[6] = result_bits(__reduce_add_sync(mask, with_sign));
  results[7] = result_bits(__reduce_min_sync(mask, with_sign));
  results[8] = result_bits(__reduce_max_sync(mask, with_sign));
}

// Each group of a split (variant) reduces random numbers, which overflow as they are added, and then
// numbers that have bits in common.
__global__ void reduce_in_groups(WordParams params) {
  const unsigned int mask = first_group(params.variant);
  const bool is_first = (mask >> thread_in_cta() % kLanes & 1u) != 0;
  const unsigned int values[2] = {drawn_word(params, 0), (drawn_word(params, 1) & 0xfff0u) | 0xf0u};
  for (int round = 0; round < 2; ++round) {
    if (is_first) {
      reduce(mask, values[round], results_of_thread(params) + 9 * round);
    } else {
      reduce(~mask, values[round], results_of_thread(params) + 9 * round);
    }
  }
}

}  // namespace

std::vector<WordKernel> reductions() { return {{"reduce", launch_word<reduce_in_groups>}}; }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
