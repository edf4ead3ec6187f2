#include <algorithm>
#include <cstring>

#include "tests/gpu/words/contention_memory.h"
#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

std::uint64_t bits_of_float(float number) {
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

std::uint64_t bits_of_double(double number) {
  std::uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

std::uint64_t one(const WordCase&, unsigned int, int) { return 1; }

// The sum of what all threads draw, modulo 2^32.
std::uint32_t sum_of_words(unsigned int begin, unsigned int end) {
  std::uint32_t sum = 0;
  for (unsigned int thread = begin; thread < end; ++thread) sum += drawn_word(thread, 0);
  return sum;
}

std::uint64_t contended(const WordCase& word_case, std::size_t place) {
  const unsigned int num_threads = word_case.num_threads();
  std::vector<std::uint32_t> words;
  for (unsigned int thread = 0; thread < num_threads; ++thread) {
    words.push_back(drawn_word(thread, 0));
  }
  const std::uint32_t largest = *std::max_element(words.begin(), words.end());
  std::uint64_t wide_sum = 0;
  std::uint32_t united = 0;
  std::uint32_t parity = 0;
  for (std::uint32_t word : words) {
    wide_sum += (std::uint64_t{1} << 33) + word;
    united |= word & 0x11111111u;
    parity ^= word;
  }
  switch (place) {
    case kTickets:
      return num_threads;
    case kWideSum:
      return wide_sum;
    case kFloatSum:
      return bits_of_float(0.5f * static_cast<float>(num_threads));
    case kDoubleSum:
      return bits_of_double(0.25 * num_threads);
    case kDifference:
      return 0u - sum_of_words(0, num_threads);
    case kMinimum:
      return static_cast<std::uint32_t>(-static_cast<std::int32_t>(largest >> 1));
    case kMaximum:
      return largest;
    case kUnion:
      return united;
    case kParity:
      return parity;
    case kCyclicUp:  // 0 1 2 3 4 5 6 0 1 …
      return num_threads % 7;
    case kCyclicDown:  // 0 6 5 4 3 2 1 0 6 …
      return (7 - num_threads % 7) % 7;
    default:  // each ticket was given once
      return 1;
  }
}

std::uint64_t contended_in_cta(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int begin = thread - thread % word_case.threads_per_cta();
  const unsigned int end = begin + word_case.threads_per_cta();
  std::uint64_t largest = 0;
  for (unsigned int other = begin; other < end; ++other) {
    largest = std::max(largest, drawn(WordCase::kSeed, other, 1));
  }
  switch (index) {
    case 0:
      return sum_of_words(begin, end);
    case 1:
      return largest;
    default:
      return bits_of_float(0.5f * static_cast<float>(end - begin));
  }
}

}  // namespace

std::vector<WordCase> contention_cases() {
  std::vector<WordCase> cases;
  for (const Extent& cta : cta_shapes()) {
    const WordLaunch on = {{5, 1, 1}, cta, 0};
    const unsigned int num_threads = 5 * cta.x * cta.y * cta.z;
    cases.push_back({.kernel = "contend_global",
                     .on = on,
                     .results_per_thread = 1,
                     .memory_words = kFirstSeen + num_threads,
                     .result = one,
                     .memory = contended});
    cases.push_back({.kernel = "contend_shared",
                     .on = on,
                     .results_per_thread = 3,
                     .result = contended_in_cta});
    cases.push_back({.kernel = "compare_and_swap_loop",
                     .on = on,
                     .results_per_thread = 1,
                     .memory_words = 1,
                     .result = one,
                     .memory = [](const WordCase& of, std::size_t) -> std::uint64_t {
                       return sum_of_words(0, of.num_threads());
                     }});
    // Word 0 is the lock, free again; word 1 the sum.
    cases.push_back({.kernel = "lock",
                     .on = {{1, 1, 1}, cta, 0},
                     .results_per_thread = 1,
                     .memory_words = 2,
                     .result = one,
                     .memory = [](const WordCase& of, std::size_t word) -> std::uint64_t {
                       return word == 0 ? 0 : sum_of_words(0, of.num_threads());
                     }});
    // Word 0 counts arrivals and is 0 again, word 1 is the total, then follows each block's own sum.
    cases.push_back({.kernel = "last_thread_block",
                     .on = on,
                     .results_per_thread = 1,
                     .memory_words = 7,
                     .result = one,
                     .memory = [](const WordCase& of, std::size_t word) -> std::uint64_t {
                       const unsigned int threads = of.threads_per_cta();
                       if (word == 0) return 0;
                       if (word == 1) return sum_of_words(0, of.num_threads());
                       const unsigned int begin = static_cast<unsigned int>(word - 2) * threads;
                       return sum_of_words(begin, begin + threads);
                     }});
  }
  return cases;
}

}  // namespace pagelab::test
