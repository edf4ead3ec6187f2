// Shared memory: static arrays, dynamic arrays, and those of a function in another file (S3).

#include "gpu/device/shared_memory.h"
#include "tests/gpu/words/neighbour_sum.h"
#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

// Several arrays, of several types and lengths that are no multiples of anything: none runs into
// another. All threads write them, and each reads an element of each.
__global__ void use_static_arrays(WordParams params) {
  __shared__ unsigned char bytes[33];
  __shared__ double doubles[17];
  __shared__ float4 vectors[5];
  __shared__ short table[3][7];
  __shared__ unsigned int words[1031];
  __shared__ unsigned int one_word;
  const unsigned int thread = thread_in_cta();
  const unsigned int step = threads_per_cta();
  for (unsigned int i = thread; i < 33; i += step) bytes[i] = static_cast<unsigned char>(200 + i);
  for (unsigned int i = thread; i < 17; i += step) doubles[i] = 0.5 * i;
  for (unsigned int i = thread; i < 5; i += step) {
    const float x = static_cast<float>(i);
    vectors[i] = make_float4(x, x + 10, x + 20, x + 30);
  }
  for (unsigned int i = thread; i < 21; i += step) {
    table[i / 7][i % 7] = static_cast<short>(i) - 10;
  }
  for (unsigned int i = thread; i < 1031; i += step) words[i] = 3 * i + blockIdx.x;
  if (thread == 0) one_word = 77 + blockIdx.x;
  __syncthreads();
  std::uint64_t* const results = results_of_thread(params);
  const unsigned int i = thread + 1;
  results[0] = bytes[i % 33];
  results[1] = result_bits(doubles[i % 17]);
  results[2] = result_bits(vectors[i % 5].z);
  results[3] = static_cast<unsigned short>(table[i % 3][i % 7]);
  results[4] = words[i];
  results[5] = one_word;
}

// All of dynamic shared memory, as one array of words and then as doubles and words one after the
// other, beside a static array.
template <bool kHasStatic>
__global__ void use_dynamic_array(WordParams params) {
  const unsigned int num_words = static_cast<unsigned int>(params.size) / 4;
  const unsigned int thread = thread_in_cta();
  unsigned int* const words = dynamic_shared_memory<unsigned int>();
  for (unsigned int i = thread; i < num_words; i += threads_per_cta()) words[i] = mixed(i);
  __syncthreads();
  unsigned int sum = 0;
  for (unsigned int i = thread; i < num_words; i += threads_per_cta()) {
    sum += words[num_words - 1 - i] * (i + 1);
  }
  std::uint64_t* const results = results_of_thread(params);
  results[0] = sum;
  __syncthreads();

  const unsigned int num_doubles = num_words / 4;  // half of the bytes
  double* const doubles = dynamic_shared_memory<double>();
  unsigned int* const rest = reinterpret_cast<unsigned int*>(doubles + num_doubles);
  for (unsigned int i = thread; i < num_doubles; i += threads_per_cta()) {
    doubles[i] = i;
    rest[i] = 5 * i;
  }
  __syncthreads();
  results[1] = result_bits(doubles[num_doubles - 1 - thread % num_doubles]);
  results[2] = rest[(thread + 3) % num_doubles];
  results[3] = 0;
  if constexpr (kHasStatic) {
    __shared__ unsigned int beside[1024];
    beside[thread] = 9 * thread;
    __syncthreads();
    results[3] = beside[threads_per_cta() - 1 - thread];
  }
}

__global__ void call_helper(WordParams params) {
  results_of_thread(params)[0] = neighbour_sum(drawn_word(params, 0));
  results_of_thread(params)[1] = neighbour_sum(drawn_word(params, 1));
}

// The same helper, in a kernel that has an array of its own and another barrier.
__global__ void call_helper_beside_own_array(WordParams params) {
  __shared__ unsigned int values[1024];
  values[thread_in_cta()] = drawn_word(params, 0);
  const unsigned int sum = neighbour_sum(drawn_word(params, 1));
  const unsigned int other = threads_per_cta() - 1 - thread_in_cta();
  results_of_thread(params)[0] = sum;
  results_of_thread(params)[1] = values[other];
}

}  // namespace

std::vector<WordKernel> shared_arrays() {
  return {{"static_shared", launch_word<use_static_arrays>},
          {"dynamic_shared", launch_word<use_dynamic_array<false>>},
          {"dynamic_beside_static_shared", launch_word<use_dynamic_array<true>>},
          {"shared_of_a_helper", launch_word<call_helper>},
          {"shared_of_a_helper_beside_own", launch_word<call_helper_beside_own_array>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
