// Bits of integers, short vectors, __ldg, and the coordinates of threads.

#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

__global__ void count_bits(WordParams params) {
  std::uint64_t* results = results_of_thread(params);
  for (int index = 0; index < kNumBitPatterns; ++index) {
    const std::uint64_t bits = bit_pattern(params.seed, thread_in_grid(), index);
    const unsigned int word = static_cast<unsigned int>(bits);
    *results++ = static_cast<unsigned int>(__popc(word));
    *results++ = static_cast<unsigned int>(__popcll(bits));
    *results++ = static_cast<unsigned int>(__ffs(static_cast<int>(word)));
    *results++ = static_cast<unsigned int>(__ffsll(static_cast<long long>(bits)));
    *results++ = static_cast<unsigned int>(__clz(static_cast<int>(word)));
    *results++ = static_cast<unsigned int>(__clzll(static_cast<long long>(bits)));
    *results++ = __brev(word);
    *results++ = __brevll(bits);
  }
}

// Bits kept, number changed: there and back.
__global__ void cast_bits(WordParams params) {
  std::uint64_t* results = results_of_thread(params);
  const std::uint64_t bits = drawn(params.seed, thread_in_grid(), 0);
  const float number = __uint_as_float(static_cast<unsigned int>(bits));
  const double wide = __longlong_as_double(static_cast<long long>(bits));
  results[0] = __float_as_uint(number);
  results[1] = static_cast<unsigned int>(__float_as_int(number));
  results[2] = __float_as_uint(__int_as_float(static_cast<int>(bits)));
  results[3] = static_cast<std::uint64_t>(__double_as_longlong(wide));
}

// 96 bytes a thread: one vector of each type read with __ldg, and read plainly, is the same; what make_
// makes of its elements in reverse is written to the second half of the memory.
template <typename Vector>
__device__ __forceinline__ Vector read(const WordParams& params, int place) {
  const Vector* const from =
      reinterpret_cast<const Vector*>(params.memory + 12 * thread_in_grid() + place);
  const Vector plain = *from;
  const Vector cached = __ldg(from);
  return plain.x == cached.x && plain.y == cached.y ? cached : Vector{};
}

template <typename Vector>
__device__ __forceinline__ void write(const WordParams& params, int place, Vector vector) {
  const unsigned int num_threads = threads_per_cta() * gridDim.x;
  *reinterpret_cast<Vector*>(params.memory + 12 * (num_threads + thread_in_grid()) + place) =
      vector;
}

__global__ void move_vectors(WordParams params) {
  const int4 ints = read<int4>(params, 0);
  const uint4 words = read<uint4>(params, 2);
  const float4 floats = read<float4>(params, 4);
  const int2 two_ints = read<int2>(params, 6);
  const uint2 two_words = read<uint2>(params, 7);
  const float2 two_floats = read<float2>(params, 8);
  write(params, 0, make_int4(ints.w, ints.z, ints.y, ints.x));
  write(params, 2, make_uint4(words.w, words.z, words.y, words.x));
  write(params, 4, make_float4(floats.w, floats.z, floats.y, floats.x));
  write(params, 6, make_int2(two_ints.y, two_ints.x));
  write(params, 7, make_uint2(two_words.y, two_words.x));
  write(params, 8, make_float2(two_floats.y, two_floats.x));
  std::uint64_t* const results = results_of_thread(params);
  results[0] = sizeof(int4) + 100 * alignof(int4);
  results[1] = sizeof(uint4) + 100 * alignof(uint4);
  results[2] = sizeof(float4) + 100 * alignof(float4);
  results[3] = sizeof(int2) + 100 * alignof(int2);
  results[4] = sizeof(uint2) + 100 * alignof(uint2);
  results[5] = sizeof(float2) + 100 * alignof(float2);
  results[6] = __ldg(params.memory + 12 * thread_in_grid());
  results[7] =
      result_bits(__ldg(reinterpret_cast<const float*>(params.memory) + 24 * thread_in_grid() + 1));
}

__global__ void tell_coordinates(WordParams params) {
  std::uint64_t* const results = results_of_thread(params);
  const unsigned int coordinates[13] = {threadIdx.x,
                                        threadIdx.y,
                                        threadIdx.z,
                                        blockIdx.x,
                                        blockIdx.y,
                                        blockIdx.z,
                                        blockDim.x,
                                        blockDim.y,
                                        blockDim.z,
                                        gridDim.x,
                                        gridDim.y,
                                        gridDim.z,
                                        static_cast<unsigned int>(warpSize)};
  for (int index = 0; index < 13; ++index) results[index] = coordinates[index];
}

}  // namespace

std::vector<WordKernel> numbers() {
  return {{"bits", launch_word<count_bits>},
          {"casts", launch_word<cast_bits>},
          {"vectors", launch_word<move_vectors>},
          {"coordinates", launch_word<tell_coordinates>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
