// __syncthreads, _count, _and, _or and __syncwarp.

#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

// What every thread wrote before a barrier, another one reads after it.
__global__ void rotate(WordParams params) {
  __shared__ unsigned int values[1024];
  const unsigned int thread = thread_in_cta();
  for (int round = 0; round < params.results_per_thread; ++round) {
    values[thread] = drawn_word(params, round);
    __syncthreads();
    const unsigned int other = (thread + 7 + static_cast<unsigned int>(round)) % threads_per_cta();
    results_of_thread(params)[round] = values[other];
    __syncthreads();
  }
}

// Results: count, and, or for each kind of predicate. What is not 0 is written as 1.
__global__ void vote_at_barriers(WordParams params) {
  std::uint64_t* const results = results_of_thread(params);
  for (int kind = 0; kind < kNumPredicates; ++kind) {
    const int predicate = predicate_of(kind, params.seed, thread_in_cta(), threads_per_cta());
    results[3 * kind] = static_cast<unsigned int>(__syncthreads_count(predicate));
    results[3 * kind + 1] = __syncthreads_and(predicate) != 0 ? 1 : 0;
    results[3 * kind + 2] = __syncthreads_or(predicate) != 0 ? 1 : 0;
  }
}

// The two groups of a split (variant) exchange numbers, each among itself, in branches of their own.
__global__ void meet_in_groups(WordParams params) {
  __shared__ unsigned int values[1024];
  const unsigned int thread = thread_in_cta();
  const unsigned int lane = thread % kLanes;
  const unsigned int mask = first_group(params.variant);
  const bool is_first = (mask >> lane & 1u) != 0;
  const unsigned int group = is_first ? mask : ~mask;
  const unsigned int next = next_in_group(group, lane, lanes_of_warp(thread, threads_per_cta()));
  for (int round = 0; round < params.results_per_thread; ++round) {
    values[thread] = drawn_word(params, round);
    if (is_first) {
      __syncwarp(mask);
      results_of_thread(params)[round] = values[thread - lane + next];
      __syncwarp(mask);
    } else {
      __syncwarp(~mask);
      results_of_thread(params)[round] = values[thread - lane + next];
      __syncwarp(~mask);
    }
  }
}

}  // namespace

std::vector<WordKernel> barriers() {
  return {{"syncthreads", launch_word<rotate>},
          {"syncthreads_votes", launch_word<vote_at_barriers>},
          {"syncwarp", launch_word<meet_in_groups>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
