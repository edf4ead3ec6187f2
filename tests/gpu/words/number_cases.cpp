// Source: CUDA Math API, "Integer Intrinsics" and "Type Casting Intrinsics"; CUDA C++ Programming Guide,
// "Built-in Vector Types" and its table of alignments.

#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

// Of the lowest `width` bits: counted one by one.
int count_of_ones(std::uint64_t bits, int width) {
  int count = 0;
  for (int place = 0; place < width; ++place) count += bits >> place & 1u ? 1 : 0;
  return count;
}

int first_one(std::uint64_t bits, int width) {
  for (int place = 0; place < width; ++place) {
    if ((bits >> place & 1u) != 0) return place + 1;
  }
  return 0;
}

int leading_zeros(std::uint64_t bits, int width) {
  int count = 0;
  while (count < width && (bits >> (width - 1 - count) & 1u) == 0) ++count;
  return count;
}

std::uint64_t reversed(std::uint64_t bits, int width) {
  std::uint64_t result = 0;
  for (int place = 0; place < width; ++place) {
    result = result * 2 + (bits >> place & 1u);
  }
  return result;
}

std::uint64_t counted(const WordCase&, unsigned int thread, int index) {
  const std::uint64_t bits = bit_pattern(WordCase::kSeed, thread, index / 8);
  const int width = index % 2 == 0 ? 32 : 64;
  switch (index % 8 / 2) {
    case 0:
      return static_cast<std::uint64_t>(count_of_ones(bits, width));
    case 1:
      return static_cast<std::uint64_t>(first_one(bits, width));
    case 2:
      return static_cast<std::uint64_t>(leading_zeros(bits, width));
    default:
      return reversed(bits, width);
  }
}

std::uint64_t cast(const WordCase&, unsigned int thread, int index) {
  const std::uint64_t bits = drawn(WordCase::kSeed, thread, 0);
  return index == 3 ? bits : bits & 0xffffffffu;
}

// Elements of 4 bytes in a thread's 96, and where its vectors begin.
std::uint32_t element_before(std::size_t index) {
  const std::uint64_t word = memory_before(index / 2);
  return static_cast<std::uint32_t>(index % 2 == 0 ? word : word >> 32);
}

constexpr int kWordsPerThread = 12;

std::uint64_t moved(const WordCase& word_case, std::size_t word) {
  const std::size_t half = static_cast<std::size_t>(kWordsPerThread) * word_case.num_threads();
  if (word < half) return memory_before(word);
  const std::size_t place = (word - half) % kWordsPerThread;
  if (place >= 9) return memory_before(word);     // written by nobody
  const std::size_t first = word - half - place;  // of the thread
  // Words 0 to 5 are three vectors of four, 6 to 8 are three of two: reversed, each by itself.
  const std::size_t vector = place < 6 ? place / 2 * 2 : place;
  const std::size_t elements = place < 6 ? 4 : 2;
  const std::size_t low = 2 * (place - vector);
  const std::size_t begin = 2 * (first + vector);
  const std::uint64_t x = element_before(begin + elements - 1 - low);
  const std::uint64_t y = element_before(begin + elements - 2 - low);
  return x | y << 32;
}

std::uint64_t vector_facts(const WordCase&, unsigned int thread, int index) {
  if (index < 3) return 16 + 100 * 16;
  if (index < 6) return 8 + 100 * 8;
  const std::size_t first = static_cast<std::size_t>(kWordsPerThread) * thread;
  return index == 6 ? memory_before(first) : element_before(2 * first + 1);
}

std::uint64_t coordinate(const WordCase& word_case, unsigned int thread, int index) {
  const Extent& cta = word_case.on.cta;
  const Extent& grid = word_case.on.grid;
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int cta_idx = thread / word_case.threads_per_cta();
  const unsigned int expected[13] = {in_cta % cta.x,
                                     in_cta / cta.x % cta.y,
                                     in_cta / cta.x / cta.y,
                                     cta_idx % grid.x,
                                     cta_idx / grid.x % grid.y,
                                     cta_idx / grid.x / grid.y,
                                     cta.x,
                                     cta.y,
                                     cta.z,
                                     grid.x,
                                     grid.y,
                                     grid.z,
                                     32};
  return expected[index];
}

}  // namespace

std::vector<WordCase> number_cases() {
  std::vector<WordCase> cases;
  cases.push_back({.kernel = "bits",
                   .on = {{2, 1, 1}, {70, 1, 1}, 0},
                   .results_per_thread = 8 * kNumBitPatterns,
                   .result = counted});
  cases.push_back({.kernel = "casts",
                   .on = {{1, 1, 1}, {200, 1, 1}, 0},
                   .results_per_thread = 4,
                   .result = cast});
  for (const Extent& cta : cta_shapes()) {
    const std::size_t num_threads = static_cast<std::size_t>(2) * cta.x * cta.y * cta.z;
    cases.push_back({.kernel = "vectors",
                     .on = {{2, 1, 1}, cta, 0},
                     .results_per_thread = 8,
                     .memory_words = 2 * kWordsPerThread * num_threads,
                     .memory_is_drawn = true,
                     .result = vector_facts,
                     .memory = moved});
    cases.push_back({.kernel = "coordinates",
                     .on = {{2, 3, 4}, cta, 0},
                     .results_per_thread = 13,
                     .result = coordinate});
  }
  return cases;
}

}  // namespace pagelab::test
