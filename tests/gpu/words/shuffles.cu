// __shfl_sync, _up, _down and _xor.

#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

template <typename Number>
__device__ __forceinline__ Number
shuffle(int kind, unsigned int mask, Number value, int operand, int width) {
  switch (kind) {
    case 0:
      return __shfl_sync(mask, value, operand, width);
    case 1:
      return __shfl_up_sync(mask, value, static_cast<unsigned int>(operand), width);
    case 2:
      return __shfl_down_sync(mask, value, static_cast<unsigned int>(operand), width);
    default:
      return __shfl_xor_sync(mask, value, operand, width);
  }
}

// One kind (variant) with one width (size): every operand, the same for all lanes.
template <typename Number>
__global__ void shuffle_every_operand(WordParams params) {
  const Number value = number_of_bits<Number>(drawn(params.seed, thread_in_grid(), 0));
  std::uint64_t* const results = results_of_thread(params);
  for (int index = 0; index < params.results_per_thread; ++index) {
    const Number got =
        shuffle(params.variant, 0xffffffffu, value, shuffle_operand(index), params.size);
    results[index] = result_bits(got);
  }
}

// One kind (variant), each lane with an operand of its own that leads to a lane of a partial warp.
template <typename Number>
__global__ void shuffle_own_operand(WordParams params) {
  const unsigned int lane = thread_in_cta() % kLanes;
  const unsigned int num_lanes = lanes_of_warp(thread_in_cta(), threads_per_cta());
  std::uint64_t* const results = results_of_thread(params);
  for (int index = 0; index < params.results_per_thread; ++index) {
    const Number value = number_of_bits<Number>(drawn(params.seed, thread_in_grid(), index));
    const unsigned int random = drawn_word(params, index + 100);
    const int operand = own_operand(params.variant, random, lane, num_lanes);
    results[index] = result_bits(shuffle(params.variant, 0xffffffffu, value, operand, 32));
  }
}

// The two groups of a split (variant) shuffle, each among itself, in branches of their own.
__global__ void shuffle_in_groups(WordParams params) {
  const unsigned int lane = thread_in_cta() % kLanes;
  const unsigned int num_lanes = lanes_of_warp(thread_in_cta(), threads_per_cta());
  const unsigned int mask = first_group(params.variant);
  const unsigned int value = drawn_word(params, 0);
  std::uint64_t* const results = results_of_thread(params);
  if ((mask >> lane & 1u) != 0) {
    const unsigned int next = next_in_group(mask, lane, num_lanes);
    results[0] = __shfl_sync(mask, value, static_cast<int>(next));
    results[1] = 1;
  } else {
    const unsigned int next = next_in_group(~mask, lane, num_lanes);
    results[0] = __shfl_sync(~mask, value, static_cast<int>(next));
    results[1] = 2;
  }
}

}  // namespace

std::vector<WordKernel> shuffles() {
  return {{"shfl_int", launch_word<shuffle_every_operand<int>>},
          {"shfl_unsigned", launch_word<shuffle_every_operand<unsigned int>>},
          {"shfl_long_long", launch_word<shuffle_every_operand<long long>>},
          {"shfl_unsigned_long_long", launch_word<shuffle_every_operand<unsigned long long>>},
          {"shfl_float", launch_word<shuffle_every_operand<float>>},
          {"shfl_double", launch_word<shuffle_every_operand<double>>},
          {"shfl_own_operand_int", launch_word<shuffle_own_operand<int>>},
          {"shfl_own_operand_double", launch_word<shuffle_own_operand<double>>},
          {"shfl_in_groups", launch_word<shuffle_in_groups>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
