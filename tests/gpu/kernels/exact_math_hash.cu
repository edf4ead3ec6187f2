#include "gpu/device/ex2.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "reference/numerics/exact_math.h"
#include "tests/gpu/kernels/exact_math_hash.h"
#include "tests/support/bit_hash.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

__device__ float result_of(test::ExactFunctionId function, float x) {
  switch (function) {
    case test::ExactFunctionId::kExp2:
      return exact_exp2(x);
    case test::ExactFunctionId::kLog2:
      return exact_log2(x);
    case test::ExactFunctionId::kLog:
      return exact_log(x);
    case test::ExactFunctionId::kEx2Approx:
      return ex2_approx(x);
    default:
      return exact_tanh(x);
  }
}

__global__ void hash_results(test::ExactMathHashParams params) {
  const std::int64_t thread_idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread_idx >= params.num_threads) return;
  const std::uint64_t end = std::uint64_t{1} << 32;
  std::uint64_t hash = 0;
  for (std::uint64_t bits = static_cast<std::uint64_t>(thread_idx) * params.stride; bits < end;
       bits += static_cast<std::uint64_t>(params.num_threads) * params.stride) {
    const std::uint32_t input = static_cast<std::uint32_t>(bits);
    const float result = result_of(params.function, float_from_bits(input));
    hash += test::hash_of_pair(input, bits_of(result));
  }
  params.partial_hashes[thread_idx] = hash;
}

}  // namespace

void exact_math_hash(const test::ExactMathHashParams& params) {
  constexpr unsigned int kThreadsPerCta = 256;
  launch("exact_math_hash", ctas_for(params.num_threads, kThreadsPerCta), kThreadsPerCta,
         hash_results, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
