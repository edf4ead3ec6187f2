// Source: CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Match Functions", "Warp Reduce
// Functions". Numbers match by their bits: NaN matches NaN, and 0 does not match −0.

#include <algorithm>

#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

// Threads of the grid that are in this one's group, itself among them.
std::vector<unsigned int> threads_of_group(const WordCase& word_case, unsigned int thread) {
  const unsigned int first = thread - thread % word_case.threads_per_cta() % kLanes;
  std::vector<unsigned int> threads;
  for (unsigned int lane = 0; lane < kLanes; ++lane) {
    if ((group_of(word_case, thread) >> lane & 1u) != 0) threads.push_back(first + lane);
  }
  return threads;
}

unsigned int lane_of(const WordCase& word_case, unsigned int thread) {
  return thread % word_case.threads_per_cta() % kLanes;
}

std::uint64_t voted(const WordCase& word_case, unsigned int thread, int index) {
  unsigned int ballot = 0;
  for (unsigned int other : threads_of_group(word_case, thread)) {
    const unsigned int in_cta = other % word_case.threads_per_cta();
    const int predicate =
        predicate_of(index / 3, WordCase::kSeed, in_cta, word_case.threads_per_cta());
    if (predicate != 0) ballot |= 1u << lane_of(word_case, other);
  }
  switch (index % 3) {
    case 0:
      return ballot;
    case 1:
      return ballot == group_of(word_case, thread) ? 1 : 0;
    default:
      return ballot != 0 ? 1 : 0;
  }
}

template <typename Number>
std::uint64_t matched(const WordCase& word_case, unsigned int thread, int index) {
  const auto bits = [&](unsigned int of_thread) {
    const std::uint64_t all = match_bits(WordCase::kSeed, of_thread, index / 3, sizeof(Number));
    return sizeof(Number) == 8 ? all : all & 0xffffffffu;
  };
  unsigned int alike = 0;
  for (unsigned int other : threads_of_group(word_case, thread)) {
    if (bits(other) == bits(thread)) alike |= 1u << lane_of(word_case, other);
  }
  if (index % 3 == 0) return alike;
  // Seen from any lane, all are alike or not.
  const bool all_alike = alike == group_of(word_case, thread);
  if (index % 3 == 1 && all_alike) {
    // The mask that was named, with lanes that a partial warp lacks.
    return alike;
  }
  return all_alike ? 1 : 0;
}

std::uint64_t active(const WordCase& word_case, unsigned int thread, int index) {
  const bool stays = (first_group(word_case.variant) >> lane_of(word_case, thread) & 1u) != 0;
  if (!stays) return 7;
  return index == 0 ? 1 : 0;
}

std::uint64_t reduced(const WordCase& word_case, unsigned int thread, int index) {
  std::vector<unsigned int> values;
  for (unsigned int other : threads_of_group(word_case, thread)) {
    const unsigned int word = drawn_word(other, index / 9);
    values.push_back(index / 9 == 0 ? word : (word & 0xfff0u) | 0xf0u);
  }
  const auto less_with_sign = [](unsigned int a, unsigned int b) {
    return static_cast<std::int64_t>(static_cast<std::int32_t>(a)) <
           static_cast<std::int64_t>(static_cast<std::int32_t>(b));
  };
  unsigned int sum = 0;
  unsigned int intersection = 0xffffffffu;
  unsigned int united = 0;
  unsigned int parity = 0;
  for (unsigned int value : values) {
    sum += value;
    intersection &= value;
    united |= value;
    parity ^= value;
  }
  switch (index % 9) {
    case 1:
      return *std::min_element(values.begin(), values.end());
    case 2:
      return *std::max_element(values.begin(), values.end());
    case 3:
      return intersection;
    case 4:
      return united;
    case 5:
      return parity;
    case 7:
      return *std::min_element(values.begin(), values.end(), less_with_sign);
    case 8:
      return *std::max_element(values.begin(), values.end(), less_with_sign);
    default:
      return sum;  // with and without a sign
  }
}

}  // namespace

std::vector<WordCase> vote_cases() {
  std::vector<WordCase> cases;
  for (const Extent& cta : cta_shapes()) {
    for (int split = 0; split < kNumSplits; ++split) {
      const auto add = [&](const char* kernel, int num_results, auto result) {
        cases.push_back({.kernel = kernel,
                         .on = {{2, 1, 1}, cta, 0},
                         .variant = split,
                         .results_per_thread = num_results,
                         .result = result});
      };
      add("votes", 3 * kNumPredicates, voted);
      add("match_int", 3 * kNumMatches, matched<int>);
      add("match_unsigned", 3 * kNumMatches, matched<unsigned int>);
      add("match_long_long", 3 * kNumMatches, matched<long long>);
      add("match_unsigned_long_long", 3 * kNumMatches, matched<unsigned long long>);
      add("match_float", 3 * kNumMatches, matched<float>);
      add("match_double", 3 * kNumMatches, matched<double>);
      add("activemask", 2, active);
      add("reduce", 18, reduced);
    }
  }
  return cases;
}

}  // namespace pagelab::test
