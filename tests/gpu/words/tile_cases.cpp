// Source: CUDA C++ Programming Guide, "Cooperative Groups", "Thread Block Tile".

#include <algorithm>

#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

// Neighbours first, then pairs of neighbours.
float tree_sum(const std::vector<float>& numbers) {
  if (numbers.size() == 1) return numbers[0];
  std::vector<float> pairs;
  for (std::size_t i = 0; i < numbers.size(); i += 2) pairs.push_back(numbers[i] + numbers[i + 1]);
  return tree_sum(pairs);
}

// The words of a tile that are votes or sums of all its lanes.
std::uint64_t of_all_lanes(unsigned int first, int size, unsigned int mine, int index) {
  std::vector<unsigned int> words;
  std::vector<float> numbers;
  for (int rank = 0; rank < size; ++rank) {
    words.push_back(drawn_word(first + static_cast<unsigned int>(rank), 0));
    numbers.push_back(static_cast<float>(words.back() % 1000) * 0.1f);
  }
  const auto with_sign = [](unsigned int a, unsigned int b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  unsigned int even = 0;
  unsigned int alike = 0;
  unsigned int sum = 0;
  bool any = false;
  bool all = true;
  for (int rank = 0; rank < size; ++rank) {
    const unsigned int word = words[static_cast<std::size_t>(rank)];
    if (word % 2 == 0) even |= 1u << rank;
    if (word % 3 == mine % 3) alike |= 1u << rank;
    any = any || word % 4 == 0;
    all = all && word % 4 != 0;
    sum += word;
  }
  switch (index) {
    case 7:
      return any ? 1 : 0;
    case 8:
      return all ? 1 : 0;
    case 9:
      return even;
    case 10:
      return alike;
    case 11:
      return sum;
    case 12:
      return to_bits(tree_sum(numbers));
    case 13:
      return *std::min_element(words.begin(), words.end());
    default:
      return *std::max_element(words.begin(), words.end(), with_sign);
  }
}

std::uint64_t of_tile(const WordCase& word_case, unsigned int thread, int index) {
  const int size = word_case.size;
  const int rank = static_cast<int>(thread % word_case.threads_per_cta()) % size;
  const unsigned int first = thread - static_cast<unsigned int>(rank);
  const auto word_of_rank = [&](int other) -> std::uint64_t {
    return drawn_word(first + static_cast<unsigned int>(other), 0);
  };
  const bool is_cooperative_groups = word_case.variant == 1;
  switch (index) {
    case 0:
      return static_cast<std::uint64_t>(rank);
    case 1:
      return static_cast<std::uint64_t>(size);
    case 2:
      return word_of_rank(size / 2);
    case 3:
      return to_bits(static_cast<double>(first + static_cast<unsigned int>(size) - 1) + 0.5);
    case 4:
      return word_of_rank(rank == 0 ? 0 : rank - 1);
    case 5:
      return word_of_rank(rank + size / 2 < size ? rank + size / 2 : rank);
    case 6:
      return word_of_rank(size == 1 ? 0 : (rank + size / 2) % size);
    case 12:
      if (is_cooperative_groups) return 0;
      break;
    case 15:
      return is_cooperative_groups ? 0 : word_of_rank((rank + 1) % size);
    case 16:
      return thread % word_case.threads_per_cta() % kLanes / static_cast<unsigned int>(size);
    default:
      break;
  }
  return of_all_lanes(first, size, drawn_word(thread, 0), index);
}

}  // namespace

std::vector<WordCase> tile_cases() {
  std::vector<WordCase> cases;
  for (int variant : {0, 1}) {
    for (int size : {1, 2, 4, 8, 16, 32}) {
      for (const Extent& cta : {Extent{32, 1, 1}, Extent{8, 4, 3}, Extent{1024, 1, 1}}) {
        cases.push_back({.kernel = "tile",
                         .on = {{2, 1, 1}, cta, 0},
                         .variant = variant,
                         .size = size,
                         .results_per_thread = 17,
                         .is_for_gpu_only = variant == 1,
                         .result = of_tile});
      }
      // A last warp that is not full, of whole tiles.
      if (size == 32) continue;
      cases.push_back({.kernel = "tile",
                       .on = {{2, 1, 1}, {48, 1, 1}, 0},
                       .variant = variant,
                       .size = size,
                       .results_per_thread = 17,
                       .is_for_gpu_only = variant == 1,
                       .result = of_tile});
    }
  }
  return cases;
}

}  // namespace pagelab::test
