/// \file
/// Kernels that use one word of CUDA each, with its whole contract, and write what it returned. They
/// are compiled for every target; word_cases.h says what each must write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/gpu/words/word_inputs.h"

namespace pagelab::test {

/// What every such kernel gets.
struct WordParams {
  std::uint64_t seed = 0;            ///< what inputs are drawn from (word_inputs.h)
  int variant = 0;                   ///< which case of the word; the kernel says what it means
  int size = 0;                      ///< a number more: a width, a tile's size
  int results_per_thread = 0;        ///< length of one thread's results
  std::uint64_t* results = nullptr;  ///< [threads of the grid, results_per_thread] device
  std::uint64_t* memory = nullptr;   ///< [as the case says] device; input, or zeros to work on
};

/// Numbers of thread blocks or threads.
struct Extent {
  unsigned int x = 1;  ///< fastest
  unsigned int y = 1;  ///< then
  unsigned int z = 1;  ///< slowest
};

/// On how many threads.
struct WordLaunch {
  Extent grid;                   ///< thread blocks
  Extent cta;                    ///< threads of one
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory
};

/// One of the kernels.
struct WordKernel {
  const char* name;  ///< of word and type: "shfl float"
  /// Launches it under its name.
  void (*launch)(const char* name, const WordLaunch& on, const WordParams& params);
};

}  // namespace pagelab::test

// The one of this target is inline, and must be so when it is first seen.
namespace pagelab {
inline namespace PAGELAB_TARGET {}
}  // namespace pagelab

/// \cond  One table a target; the files of kernels that it is put together from follow.
#define PAGELAB_WORD_KERNELS_OF(target)          \
  namespace pagelab::target {                    \
  std::vector<test::WordKernel> word_kernels();  \
  std::vector<test::WordKernel> barriers();      \
  std::vector<test::WordKernel> shuffles();      \
  std::vector<test::WordKernel> votes();         \
  std::vector<test::WordKernel> reductions();    \
  std::vector<test::WordKernel> atomics();       \
  std::vector<test::WordKernel> contention();    \
  std::vector<test::WordKernel> numbers();       \
  std::vector<test::WordKernel> shared_arrays(); \
  std::vector<test::WordKernel> tiles();         \
  }
PAGELAB_WORD_KERNELS_OF(on_cuda)
PAGELAB_WORD_KERNELS_OF(on_simulator)
PAGELAB_WORD_KERNELS_OF(on_checked_simulator)
#undef PAGELAB_WORD_KERNELS_OF
/// \endcond
