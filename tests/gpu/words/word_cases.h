/// \file
/// What each kernel of word_kernels.h must write, thread by thread, worked out on the host from what
/// CUDA's guide and the PTX manual say of the word; and the lines of tests/golden/h200/words.txt.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "tests/gpu/words/word_kernels.h"

namespace pagelab::test {

/// One launch of one kernel.
struct WordCase {
  std::string kernel;            ///< its name
  WordLaunch on;                 ///< threads
  int variant = 0;               ///< WordParams::variant
  int size = 0;                  ///< WordParams::size
  int results_per_thread = 0;    ///< WordParams::results_per_thread
  std::size_t memory_words = 0;  ///< length of WordParams::memory
  bool memory_is_drawn = false;  ///< filled with memory_before, else with zeros
  bool is_for_gpu_only = false;  ///< uses what only nvcc knows
  /// What a thread of the grid writes at an index of its results.
  std::function<std::uint64_t(const WordCase&, unsigned int thread, int index)> result = {};
  /// What the memory holds in the end; empty: not looked at.
  std::function<std::uint64_t(const WordCase&, std::size_t word)> memory = {};

  static constexpr std::uint64_t kSeed = 20260;  ///< of all cases

  unsigned int threads_per_cta() const { return on.cta.x * on.cta.y * on.cta.z; }  ///< of a block
  unsigned int num_ctas() const { return on.grid.x * on.grid.y * on.grid.z; }  ///< thread blocks
  unsigned int num_threads() const { return num_ctas() * threads_per_cta(); }  ///< of the grid
};

/// A number's bits, as a kernel writes them among its results.
template <typename Number>
std::uint64_t to_bits(Number number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof number);
  return bits;
}

/// "shfl_float variant 0 size 8 grid (1, 1, 1) threads (32, 1, 1)".
std::string to_string(const WordCase& word_case);

/// What the memory of a case with memory_is_drawn holds before the launch.
std::uint64_t memory_before(std::size_t word);

/// The float at an index of that memory seen as floats.
float float_before(std::size_t index);

/// What a launch wrote.
struct WordResults {
  std::vector<std::uint64_t> results;  ///< [threads of the grid, results_per_thread]
  std::vector<std::uint64_t> memory;   ///< [memory_words]
};

/// Runs a case. \throws Error as the launch
WordResults run_word(const WordCase& word_case, const std::shared_ptr<Device>& device);

/// What must come of a case.
WordResults expected_word(const WordCase& word_case);

/// A line of the table: the case, a hash of its results and the first four.
std::string word_line(const WordCase& word_case, const WordResults& results);

/// All cases, in the order of the table.
std::vector<WordCase> word_cases();

/// The lines of all cases that the simulators can run too, as a device has them.
std::vector<std::string> word_lines(const std::shared_ptr<Device>& device);

/// \cond  The subjects, each in a file of its own.
std::vector<WordCase> barrier_cases();
std::vector<WordCase> shuffle_cases();
std::vector<WordCase> vote_cases();
std::vector<WordCase> atomic_cases();
std::vector<WordCase> contention_cases();
std::vector<WordCase> number_cases();
std::vector<WordCase> shared_array_cases();
std::vector<WordCase> tile_cases();
/// \endcond

/// Shapes of one thread block, with full and partial warps, in one, two and three dimensions.
std::vector<Extent> cta_shapes();

/// The lanes of a thread's group that its warp has, as a mask: what the group's words see.
/// \param word_case  its variant says how warps are split
/// \param thread     of the grid
unsigned int group_of(const WordCase& word_case, unsigned int thread);

/// 32 bits that a thread draws.
inline unsigned int drawn_word(unsigned int thread, int index) {
  return static_cast<unsigned int>(drawn(WordCase::kSeed, thread, index));
}

}  // namespace pagelab::test
