
#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

std::uint64_t in_static_arrays(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int cta_idx = thread / word_case.threads_per_cta();
  const unsigned int i = thread % word_case.threads_per_cta() + 1;
  const int row = static_cast<int>(i % 3);
  const int column = static_cast<int>(i % 7);
  switch (index) {
    case 0:
      return 200 + i % 33;
    case 1:
      return to_bits(0.5 * (i % 17));
    case 2:
      return to_bits(static_cast<float>(i % 5 + 20));
    case 3:
      return static_cast<std::uint16_t>(7 * row + column - 10);
    case 4:
      return 3 * i + cta_idx;
    default:
      return 77 + cta_idx;
  }
}

std::uint64_t in_dynamic_array(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int num_threads = word_case.threads_per_cta();
  const unsigned int num_words = static_cast<unsigned int>(word_case.size) / 4;
  const unsigned int num_doubles = num_words / 4;
  const unsigned int in_cta = thread % num_threads;
  std::uint32_t sum = 0;
  switch (index) {
    case 0:
      for (unsigned int i = in_cta; i < num_words; i += num_threads) {
        sum += mixed(num_words - 1 - i) * (i + 1);
      }
      return sum;
    case 1:
      return to_bits(static_cast<double>(num_doubles - 1 - in_cta % num_doubles));
    case 2:
      return 5 * ((in_cta + 3) % num_doubles);
    default:
      return word_case.kernel == "dynamic_shared" ? 0 : 9 * (num_threads - 1 - in_cta);
  }
}

// A thread of the same block.
unsigned int in_same_cta(const WordCase& word_case, unsigned int thread, unsigned int in_cta) {
  return thread - thread % word_case.threads_per_cta() + in_cta % word_case.threads_per_cta();
}

std::uint64_t with_neighbour(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int next = in_same_cta(word_case, thread, in_cta + 1);
  return static_cast<std::uint32_t>(drawn_word(thread, index) + drawn_word(next, index));
}

std::uint64_t with_neighbour_and_own(const WordCase& word_case, unsigned int thread, int index) {
  if (index == 0) return with_neighbour(word_case, thread, 1);
  const unsigned int num_threads = word_case.threads_per_cta();
  return drawn_word(in_same_cta(word_case, thread, num_threads - 1 - thread % num_threads), 0);
}

}  // namespace

std::vector<WordCase> shared_array_cases() {
  constexpr std::size_t kMost = 227 * 1024;  // of a thread block on an H100 or H200
  std::vector<WordCase> cases;
  for (const Extent& cta : cta_shapes()) {
    const auto add = [&](const char* kernel, std::size_t shared_bytes, int num_results,
                         auto result) {
      cases.push_back({.kernel = kernel,
                       .on = {{3, 1, 1}, cta, shared_bytes},
                       .size = static_cast<int>(shared_bytes),
                       .results_per_thread = num_results,
                       .result = result});
    };
    add("static_shared", 0, 6, in_static_arrays);
    add("dynamic_shared", 1040, 4, in_dynamic_array);
    add("dynamic_beside_static_shared", 40 * 1024, 4, in_dynamic_array);
    add("shared_of_a_helper", 0, 2, with_neighbour);
    add("shared_of_a_helper_beside_own", 0, 2, with_neighbour_and_own);
  }
  for (std::size_t shared_bytes : {std::size_t{48 * 1024}, std::size_t{100016}, kMost}) {
    cases.push_back({.kernel = "dynamic_shared",
                     .on = {{2, 1, 1}, {256, 1, 1}, shared_bytes},
                     .size = static_cast<int>(shared_bytes),
                     .results_per_thread = 4,
                     .result = in_dynamic_array});
  }
  // Beside 4 KiB of static arrays: a little more than a kernel has unasked, and all that is left.
  for (std::size_t shared_bytes : {std::size_t{46 * 1024}, kMost - 4096}) {
    cases.push_back({.kernel = "dynamic_beside_static_shared",
                     .on = {{2, 1, 1}, {256, 1, 1}, shared_bytes},
                     .size = static_cast<int>(shared_bytes),
                     .results_per_thread = 4,
                     .result = in_dynamic_array});
  }
  return cases;
}

}  // namespace pagelab::test
