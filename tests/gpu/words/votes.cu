// __ballot_sync, __all_sync, __any_sync, __match_any_sync, __match_all_sync, __activemask.

#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

__device__ __forceinline__ void vote(unsigned int mask, int predicate, std::uint64_t* results) {
  results[0] = __ballot_sync(mask, predicate);
  results[1] = __all_sync(mask, predicate) != 0 ? 1 : 0;
  results[2] = __any_sync(mask, predicate) != 0 ? 1 : 0;
}

// Each group of a split (variant) votes; results: ballot, all, any for each kind of predicate.
__global__ void vote_in_groups(WordParams params) {
  const unsigned int mask = first_group(params.variant);
  const bool is_first = (mask >> thread_in_cta() % kLanes & 1u) != 0;
  for (int kind = 0; kind < kNumPredicates; ++kind) {
    const int predicate = predicate_of(kind, params.seed, thread_in_cta(), threads_per_cta());
    if (is_first) {
      vote(mask, predicate, results_of_thread(params) + 3 * kind);
    } else {
      vote(~mask, predicate, results_of_thread(params) + 3 * kind);
    }
  }
}

template <typename Number>
__device__ __forceinline__ void match(unsigned int mask, Number value, std::uint64_t* results) {
  int all_alike = -1;
  results[0] = __match_any_sync(mask, value);
  results[1] = __match_all_sync(mask, value, &all_alike);
  results[2] = all_alike != 0 ? 1 : 0;
}

// Each group of a split (variant) looks for lanes with the same number: of the few of match_bits.
template <typename Number>
__global__ void match_in_groups(WordParams params) {
  const unsigned int mask = first_group(params.variant);
  const bool is_first = (mask >> thread_in_cta() % kLanes & 1u) != 0;
  for (int index = 0; index < kNumMatches; ++index) {
    const std::uint64_t bits = match_bits(params.seed, thread_in_grid(), index, sizeof(Number));
    const Number value = number_of_bits<Number>(bits);
    if (is_first) {
      match(mask, value, results_of_thread(params) + 3 * index);
    } else {
      match(~mask, value, results_of_thread(params) + 3 * index);
    }
  }
}

// What CUDA promises of __activemask: the calling lane is in it, and no lane that is elsewhere for
// good, which here are those that have returned. That all lanes of a branch are, it does not promise.
__global__ void active_lanes(WordParams params) {
  const unsigned int mask = first_group(params.variant);
  const unsigned int lane = thread_in_cta() % kLanes;
  results_of_thread(params)[0] = 7;
  results_of_thread(params)[1] = 7;
  if ((mask >> lane & 1u) == 0) return;
  __syncwarp(mask);
  const unsigned int active = __activemask();
  results_of_thread(params)[0] = active >> lane & 1u;
  results_of_thread(params)[1] = active & ~mask & 0xffffffffu;
}

}  // namespace

std::vector<WordKernel> votes() {
  return {{"votes", launch_word<vote_in_groups>},
          {"match_int", launch_word<match_in_groups<int>>},
          {"match_unsigned", launch_word<match_in_groups<unsigned int>>},
          {"match_long_long", launch_word<match_in_groups<long long>>},
          {"match_unsigned_long_long", launch_word<match_in_groups<unsigned long long>>},
          {"match_float", launch_word<match_in_groups<float>>},
          {"match_double", launch_word<match_in_groups<double>>},
          {"activemask", launch_word<active_lanes>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
