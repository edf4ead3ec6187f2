// Source: CUDA C++ Programming Guide, "Synchronization Functions".

#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

std::uint64_t rotated(const WordCase& word_case, unsigned int thread, int round) {
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int first = thread - in_cta;
  const unsigned int other =
      (in_cta + 7 + static_cast<unsigned int>(round)) % word_case.threads_per_cta();
  return drawn_word(first + other, round);
}

std::uint64_t voted_in_cta(const WordCase& word_case, unsigned int, int index) {
  const unsigned int num_threads = word_case.threads_per_cta();
  unsigned int count = 0;
  for (unsigned int other = 0; other < num_threads; ++other) {
    if (predicate_of(index / 3, WordCase::kSeed, other, num_threads) != 0) ++count;
  }
  switch (index % 3) {
    case 0:
      return count;
    case 1:
      return count == num_threads ? 1 : 0;
    default:
      return count > 0 ? 1 : 0;
  }
}

std::uint64_t met(const WordCase& word_case, unsigned int thread, int round) {
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int group = group_of(word_case, thread);
  const unsigned int lane = in_cta % kLanes;
  return drawn_word(thread - lane + next_in_group(group, lane, kLanes), round);
}

}  // namespace

std::vector<WordCase> barrier_cases() {
  std::vector<WordCase> cases;
  for (const Extent& cta : cta_shapes()) {
    const WordLaunch on = {{2, 1, 1}, cta, 0};
    cases.push_back(
        {.kernel = "syncthreads", .on = on, .results_per_thread = 5, .result = rotated});
    cases.push_back({.kernel = "syncthreads_votes",
                     .on = on,
                     .results_per_thread = 3 * kNumPredicates,
                     .result = voted_in_cta});
    for (int split = 0; split < kNumSplits; ++split) {
      cases.push_back({.kernel = "syncwarp",
                       .on = on,
                       .variant = split,
                       .results_per_thread = 4,
                       .result = met});
    }
  }
  return cases;
}

}  // namespace pagelab::test
