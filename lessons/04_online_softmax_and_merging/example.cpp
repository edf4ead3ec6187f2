// Lesson 04: four keys one after the other, by numbers that fit on paper; the same keys in two halves that
// are merged; and the ten keys of lesson 01, split at every place.

#include <cmath>
#include <cstdio>

#include "lessons/04_online_softmax_and_merging/solution.h"

using namespace pagelab::lesson_04;

// Attention over the keys from `first` up to `end`, in one pass.
AttentionState attend(const Row& scores, const Rows& values, int first, int end) {
  RunningState state = no_keys_yet(static_cast<int>(values[0].size()));
  for (int i = first; i < end; ++i) add_key(state, scores[i], values[i]);
  return finish(state);
}

void print_one_pass(const Row& scores, const Rows& values) {
  std::printf("key  exp(score)  value  rescaling       p  exp(m)       l      acc  acc / l\n");
  RunningState state = no_keys_yet(1);
  for (int i = 0; i < 4; ++i) {
    const double m_before = state.m;
    add_key(state, scores[i], values[i]);
    const double rescaling = std::exp(m_before - state.m), p = std::exp(scores[i] - state.m);
    std::printf("%3d  %10.0f  %5.0f  %9.4f  %6.4f  %6.0f  %6.4f  %7.4f  %7.4f\n", i,
                std::exp(scores[i]), values[i][0], rescaling, p, std::exp(state.m), state.l,
                state.acc[0], state.acc[0] / state.l);
  }
}

void print_state(const char* name, const AttentionState& state) {
  std::printf("%-22s  output %6.4f  LSE %6.4f = ln %.4f\n", name, state.output[0], state.lse,
              std::exp(state.lse));
}

void print_merge(const Row& scores, const Rows& values) {
  const AttentionState a = attend(scores, values, 0, 2), b = attend(scores, values, 2, 4);
  const AttentionState nothing = finish(no_keys_yet(1));
  print_state("keys 0 and 1", a);
  print_state("keys 2 and 3", b);
  print_state("merged", merge_states(a, b));
  print_state("merged with no keys", merge_states(merge_states(a, b), nothing));
  print_state("the mean of both", {{(a.output[0] + b.output[0]) / 2}, merge_states(a, b).lse});
  const double log2_of_b = b.lse / std::log(2.0);
  print_state("b's LSE in base 2", merge_states(a, {b.output, log2_of_b}));
}

void print_every_split() {
  constexpr int kNumKeys = 10, kHeadSize = 3;
  const double query[kHeadSize] = {0.3, -1.1, 0.7};
  Row scores(kNumKeys, 0.0);
  Rows values(kNumKeys, Row(kHeadSize));
  for (int i = 0; i < kNumKeys; ++i) {
    for (int d = 0; d < kHeadSize; ++d) values[i][d] = std::cos(5 * i + 2 * d);
    for (int d = 0; d < kHeadSize; ++d) scores[i] += query[d] * std::sin(3 * i + d) / std::sqrt(3);
  }
  std::printf("\nkeys   LSE of the parts     merged: LSE, output\n");
  for (int split = 0; split <= kNumKeys; ++split) {
    const AttentionState a = attend(scores, values, 0, split);
    const AttentionState b = attend(scores, values, split, kNumKeys);
    const AttentionState all = merge_states(a, b);
    std::printf("%2d+%-2d  % 9.6f  % 9.6f  % .6f  [% .6f % .6f % .6f]\n", split, kNumKeys - split,
                a.lse, b.lse, all.lse, all.output[0], all.output[1], all.output[2]);
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  const Row scores = {std::log(2), std::log(6), std::log(1), std::log(3)};
  const Rows values = {{6}, {2}, {12}, {4}};
  print_one_pass(scores, values);
  std::printf("\n");
  print_merge(scores, values);
  print_every_split();
}
