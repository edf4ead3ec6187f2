// Source: PTX ISA, "Data Movement and Conversion Instructions: shfl.sync", whose pseudo-code is written
// out here, and the operands that CUDA gives it (sm_30_intrinsics.hpp).

#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

// The lane that `shfl.sync.{idx,up,down,bfly}.b32 d, a, b, c` reads.
unsigned int lane_read(int kind, int lane, int operand, int width) {
  const int clamp = kind == 1 ? 0 : 0x1f;
  const int c = ((32 - width) << 8) | clamp;
  const int bval = operand & 0x1f;
  const int cval = c & 0x1f;
  const int segmask = c >> 8 & 0x1f;
  const int max_lane = (lane & segmask) | (cval & ~segmask & 0x1f);
  const int min_lane = lane & segmask;
  int j = 0;
  bool is_inside = false;
  switch (kind) {
    case 0:
      j = min_lane | (bval & ~segmask & 0x1f);
      is_inside = j <= max_lane;
      break;
    case 1:
      j = lane - bval;
      is_inside = j >= max_lane;
      break;
    case 2:
      j = lane + bval;
      is_inside = j <= max_lane;
      break;
    default:
      j = lane ^ bval;
      is_inside = j <= max_lane;
      break;
  }
  return static_cast<unsigned int>(is_inside ? j : lane);
}

std::uint64_t kept(std::uint64_t bits, std::size_t bytes) {
  return bytes == 8 ? bits : bits & 0xffffffffu;
}

template <typename Number>
std::uint64_t every_operand(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int lane = thread % word_case.threads_per_cta() % kLanes;
  const unsigned int source =
      lane_read(word_case.variant, static_cast<int>(lane), shuffle_operand(index), word_case.size);
  return kept(drawn(WordCase::kSeed, thread - lane + source, 0), sizeof(Number));
}

template <typename Number>
std::uint64_t own_operands(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int lane = in_cta % kLanes;
  const int operand = own_operand(word_case.variant, drawn_word(thread, index + 100), lane,
                                  lanes_of_warp(in_cta, word_case.threads_per_cta()));
  const unsigned int source = lane_read(word_case.variant, static_cast<int>(lane), operand, 32);
  return kept(drawn(WordCase::kSeed, thread - lane + source, index), sizeof(Number));
}

std::uint64_t in_groups(const WordCase& word_case, unsigned int thread, int index) {
  const unsigned int lane = thread % word_case.threads_per_cta() % kLanes;
  if (index == 1) return (first_group(word_case.variant) >> lane & 1u) != 0 ? 1 : 2;
  const unsigned int next = next_in_group(group_of(word_case, thread), lane, kLanes);
  return drawn_word(thread - lane + next, 0);
}

template <typename Number>
void add_every_operand(const char* kernel, std::vector<WordCase>& cases) {
  for (int kind = 0; kind < 4; ++kind) {
    for (int width : {1, 2, 4, 8, 16, 32}) {
      cases.push_back({.kernel = kernel,
                       .on = {{1, 1, 1}, {16, 4, 1}, 0},
                       .variant = kind,
                       .size = width,
                       .results_per_thread = kNumShuffleOperands,
                       .result = every_operand<Number>});
    }
  }
}

}  // namespace

std::vector<WordCase> shuffle_cases() {
  std::vector<WordCase> cases;
  add_every_operand<int>("shfl_int", cases);
  add_every_operand<unsigned int>("shfl_unsigned", cases);
  add_every_operand<long long>("shfl_long_long", cases);
  add_every_operand<unsigned long long>("shfl_unsigned_long_long", cases);
  add_every_operand<float>("shfl_float", cases);
  add_every_operand<double>("shfl_double", cases);
  for (const Extent& cta : cta_shapes()) {
    const WordLaunch on = {{2, 1, 1}, cta, 0};
    for (int kind = 0; kind < 4; ++kind) {
      cases.push_back({.kernel = "shfl_own_operand_int",
                       .on = on,
                       .variant = kind,
                       .results_per_thread = 6,
                       .result = own_operands<int>});
      cases.push_back({.kernel = "shfl_own_operand_double",
                       .on = on,
                       .variant = kind,
                       .results_per_thread = 6,
                       .result = own_operands<double>});
    }
    for (int split = 0; split < kNumSplits; ++split) {
      cases.push_back({.kernel = "shfl_in_groups",
                       .on = on,
                       .variant = split,
                       .results_per_thread = 2,
                       .result = in_groups});
    }
  }
  return cases;
}

}  // namespace pagelab::test
