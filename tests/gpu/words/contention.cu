// Atomics of many threads on one number. What it ends with does not depend on their order, and each
// old value is returned once.

#include "tests/gpu/words/contention_memory.h"
#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

// Places of ContentionMemory in params.memory.
template <typename Number>
__device__ __forceinline__ Number* at(const WordParams& params, int place) {
  return reinterpret_cast<Number*>(params.memory + place);
}

__global__ void contend_for_global(WordParams params) {
  const unsigned int word = drawn_word(params, 0);
  const unsigned int before = atomicAdd(at<unsigned int>(params, kTickets), 1u);
  atomicAdd(at<unsigned int>(params, kFirstSeen + static_cast<int>(before)), 1u);
  atomicAdd(at<unsigned long long>(params, kWideSum), (1ull << 33) + word);
  atomicAdd(at<float>(params, kFloatSum), 0.5f);
  atomicAdd(at<double>(params, kDoubleSum), 0.25);
  atomicSub(at<unsigned int>(params, kDifference), word);
  atomicMin(at<int>(params, kMinimum), -static_cast<int>(word >> 1));
  atomicMax(at<unsigned int>(params, kMaximum), word);
  atomicOr(at<unsigned int>(params, kUnion), word & 0x11111111u);
  atomicXor(at<unsigned int>(params, kParity), word);
  atomicInc(at<unsigned int>(params, kCyclicUp), 6u);
  atomicDec(at<unsigned int>(params, kCyclicDown), 6u);
  results_of_thread(params)[0] = 1;
}

// Shared memory collects what the thread block has, and one thread hands it on.
__global__ void contend_for_shared(WordParams params) {
  __shared__ unsigned int sum;
  __shared__ unsigned long long largest;
  __shared__ float halves;
  if (thread_in_cta() == 0) {
    sum = 0;
    largest = 0;
    halves = 0.0f;
  }
  __syncthreads();
  atomicAdd(&sum, drawn_word(params, 0));
  atomicMax(&largest, static_cast<unsigned long long>(drawn(params.seed, thread_in_grid(), 1)));
  atomicAdd(&halves, 0.5f);
  __syncthreads();
  results_of_thread(params)[0] = sum;
  results_of_thread(params)[1] = largest;
  results_of_thread(params)[2] = result_bits(halves);
}

// An addition made of compare and swap: what CUDA's guide shows for words that it does not have.
__global__ void add_by_compare_and_swap(WordParams params) {
  unsigned int* const sum = at<unsigned int>(params, 0);
  const unsigned int word = drawn_word(params, 0);
  unsigned int seen = atomicAdd(sum, 0u);
  unsigned int assumed;
  do {
    assumed = seen;
    seen = atomicCAS(sum, assumed, assumed + word);
  } while (seen != assumed);
  results_of_thread(params)[0] = 1;
}

// A lock that lanes of one warp fight for. The loop ends in one place, so that a lane that has the lock
// is never kept waiting by one that has not.
__global__ void take_a_lock(WordParams params) {
  unsigned int* const lock = at<unsigned int>(params, 0);
  unsigned int* const sum = at<unsigned int>(params, 1);
  bool is_done = false;
  while (!is_done) {
    if (atomicCAS(lock, 0u, 1u) == 0u) {
      const unsigned int before = atomicAdd(sum, 0u);
      __threadfence();
      atomicExch(sum, before + drawn_word(params, 0));
      __threadfence();
      atomicExch(lock, 0u);
      is_done = true;
    }
  }
  results_of_thread(params)[0] = 1;
}

// The thread block that comes last adds up what all have written.
__global__ void last_one_adds_up(WordParams params) {
  __shared__ unsigned int is_last;
  const unsigned int num_ctas = gridDim.x * gridDim.y * gridDim.z;
  unsigned int* const arrived = at<unsigned int>(params, 0);
  unsigned int* const total = at<unsigned int>(params, 1);
  unsigned int* const partial = at<unsigned int>(params, 2 + static_cast<int>(blockIdx.x));
  atomicAdd(partial, drawn_word(params, 0));
  __threadfence();
  __syncthreads();
  if (thread_in_cta() == 0) is_last = atomicInc(arrived, num_ctas - 1) == num_ctas - 1 ? 1 : 0;
  __syncthreads();
  if (is_last == 1 && thread_in_cta() == 0) {
    for (unsigned int cta = 0; cta < num_ctas; ++cta) {
      *total += atomicAdd(at<unsigned int>(params, 2 + static_cast<int>(cta)), 0u);
    }
  }
  results_of_thread(params)[0] = 1;
}

}  // namespace

std::vector<WordKernel> contention() {
  return {{"contend_global", launch_word<contend_for_global>},
          {"contend_shared", launch_word<contend_for_shared>},
          {"compare_and_swap_loop", launch_word<add_by_compare_and_swap>},
          {"lock", launch_word<take_a_lock>},
          {"last_thread_block", launch_word<last_one_adds_up>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
