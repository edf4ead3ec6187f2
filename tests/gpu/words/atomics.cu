// Atomics, one thread a number: what each returns and what it leaves, in global and shared memory.

#include <type_traits>

#include "gpu/device/shared_memory.h"
#include "tests/gpu/words/atomic_inputs.h"
#include "tests/gpu/words/word_threads.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

using namespace test;

// Does nothing where CUDA has no such word for the type.
template <typename Number>
__device__ __forceinline__ Number apply(int operation, Number* number, Number operand) {
  constexpr bool kIsInteger = std::is_integral_v<Number>;
  constexpr bool kIsWord = kIsInteger && sizeof(Number) == 4;
  constexpr bool kIsSignedLong = kIsInteger && std::is_signed_v<Number> && sizeof(Number) == 8;
  if constexpr (!kIsSignedLong) {
    if (operation == kAdd) return atomicAdd(number, operand);
  }
  if constexpr (!kIsSignedLong && !std::is_same_v<Number, double>) {
    if (operation == kExchange) return atomicExch(number, operand);
  }
  if constexpr (kIsInteger) {
    if (operation == kMin) return atomicMin(number, operand);
    if (operation == kMax) return atomicMax(number, operand);
  }
  if constexpr (kIsInteger && !kIsSignedLong) {
    if (operation == kAnd) return atomicAnd(number, operand);
    if (operation == kOr) return atomicOr(number, operand);
    if (operation == kXor) return atomicXor(number, operand);
    // Hits where the memory holds the operand.
    if (operation == kCompareAndSwap) return atomicCAS(number, operand, operand + 3);
  }
  if constexpr (kIsWord) {
    if (operation == kSub) return atomicSub(number, operand);
  }
  if constexpr (std::is_same_v<Number, unsigned int>) {
    if (operation == kIncrement) return atomicInc(number, operand);
    if (operation == kDecrement) return atomicDec(number, operand);
  }
  return *number;
}

// Every operation on every pair of atomic_pair: results are what it returned and what it left.
template <typename Number>
__device__ __forceinline__ void apply_all(WordParams params, Number* number) {
  std::uint64_t* results = results_of_thread(params);
  for (int operation = 0; operation < kNumAtomics; ++operation) {
    for (int index = 0; index < kNumAtomicPairs; ++index) {
      const AtomicPair pair = atomic_pair(params.seed, thread_in_grid(), index, params.variant);
      *number = number_of_bits<Number>(pair.old_bits);
      const Number returned = apply(operation, number, number_of_bits<Number>(pair.operand_bits));
      *results++ = result_bits(returned);
      *results++ = result_bits(*number);
    }
  }
}

template <typename Number>
__global__ void on_global(WordParams params) {
  apply_all(params, reinterpret_cast<Number*>(params.memory + thread_in_grid()));
}

template <typename Number>
__global__ void on_shared(WordParams params) {
  __shared__ Number numbers[1024];
  apply_all(params, numbers + thread_in_cta());
}

template <typename Number>
__global__ void on_dynamic_shared(WordParams params) {
  apply_all(params, dynamic_shared_memory<Number>() + thread_in_cta());
}

}  // namespace

std::vector<WordKernel> atomics() {
  return {{"atomics_int_global", launch_word<on_global<int>>},
          {"atomics_unsigned_global", launch_word<on_global<unsigned int>>},
          {"atomics_long_long_global", launch_word<on_global<long long>>},
          {"atomics_unsigned_long_long_global", launch_word<on_global<unsigned long long>>},
          {"atomics_float_global", launch_word<on_global<float>>},
          {"atomics_double_global", launch_word<on_global<double>>},
          {"atomics_int_shared", launch_word<on_shared<int>>},
          {"atomics_unsigned_shared", launch_word<on_shared<unsigned int>>},
          {"atomics_long_long_shared", launch_word<on_shared<long long>>},
          {"atomics_unsigned_long_long_shared", launch_word<on_shared<unsigned long long>>},
          {"atomics_float_shared", launch_word<on_shared<float>>},
          {"atomics_double_shared", launch_word<on_shared<double>>},
          {"atomics_float_dynamic_shared", launch_word<on_dynamic_shared<float>>}};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
