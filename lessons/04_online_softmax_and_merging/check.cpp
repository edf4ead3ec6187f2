// Judges an answer to the exercise of lesson 04. Expected numbers are computed here in long double (11
// bits more than double), with the maximum first, or by hand where a comment says so. What an answer may
// be off by is derived beside each.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lessons/04_online_softmax_and_merging/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"

namespace pagelab::lesson_04 {
namespace {

using lessons::kRoundoff;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

/// Both sums over all keys, with the maximum taken out, and the same with every term's magnitude.
struct Sums {
  double m = kMinusInfinity;
  long double l = 0;
  std::vector<long double> acc;        // [head_size]
  std::vector<long double> magnitude;  // [head_size]
  double range = 0;                    // of the scores
  int num_keys = 0;                    // that are not hidden
};

Sums sums_of(const Row& scores, const Rows& values, std::size_t head_size) {
  Sums sums;
  sums.acc.resize(head_size);
  sums.magnitude.resize(head_size);
  double smallest = std::numeric_limits<double>::infinity();
  for (const double score : scores) {
    if (score == kMinusInfinity) continue;
    sums.m = std::max(sums.m, score);
    smallest = std::min(smallest, score);
    ++sums.num_keys;
  }
  if (sums.num_keys == 0) return sums;
  sums.range = sums.m - smallest;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kMinusInfinity) continue;
    const long double p = std::exp(static_cast<long double>(scores[i]) - sums.m);
    sums.l += p;
    for (std::size_t d = 0; d < head_size; ++d) {
      sums.acc[d] += p * values[i][d];
      sums.magnitude[d] += p * std::abs(static_cast<long double>(values[i][d]));
    }
  }
  return sums;
}

/// How far off a term of the sums may be, relative to it. Its exponential is one factor, and each later
/// key may bring another: their exponents add up to at most the scores' range, which may be rounded as
/// a difference and, with exp2(x · log2 e), twice more; an exponential is good to 2 roundoffs, the product
/// and the sum that follow round once each. Twice all that, for what is of second order.
double relative_error(const Sums& sums) {
  return 2 * (3 * sums.range + 4 * (sums.num_keys + 1)) * kRoundoff;
}

/// What vanishes when a number becomes subnormal.
constexpr double kTiny = std::numeric_limits<double>::min();

std::string describe(const Row& scores, const Rows& values, const std::string& origin) {
  return "scores " + show(scores) + ", values " + show(values) + origin;
}

Row rounded(const std::vector<long double>& numbers) { return {numbers.begin(), numbers.end()}; }

const char* const kHintRescale =
    "What was added under the old m has to be multiplied by exp(old m - new m) when m grows: both "
    "sums, l and acc.";
const char* const kHintFirst =
    "m starts at -infinity: below every score, however small. A start at 0 would leave exp(-1000) "
    "= 0.";
const char* const kHintHidden =
    "A score of -infinity hides a key: nothing may change. -infinity minus -infinity is NaN.";

void judge_add_key(TaskCheck& task,
                   const Row& scores,
                   const Rows& values,
                   const std::string& origin,
                   const std::string& hint) {
  const int head_size = static_cast<int>(values[0].size());
  task.input(static_cast<std::int64_t>(scores.size()), describe(scores, values, origin), hint);
  RunningState state = no_keys_yet(head_size);
  for (std::size_t i = 0; i < scores.size(); ++i) kAnswer.add_key(state, scores[i], values[i]);
  const Sums sums = sums_of(scores, values, head_size);
  task.expect_equal("m", state.m, sums.m);
  const double error = relative_error(sums);
  task.expect_close("l", state.l, static_cast<double>(sums.l),
                    error * static_cast<double>(sums.l) + kTiny);
  Row allowed;
  for (const long double magnitude : sums.magnitude) {
    allowed.push_back(error * static_cast<double>(magnitude) + kTiny);
  }
  task.expect_close("acc", state.acc, rounded(sums.acc), allowed);
}

void check_add_key(TaskCheck& task) {
  const double hidden = kMinusInfinity;
  // By hand: m, l = 1 and acc = the value.
  judge_add_key(task, {0.5}, {{3}}, "", kHintRescale);
  judge_add_key(task, {-1000}, {{3}}, "", kHintFirst);
  judge_add_key(task, {hidden}, {{3}}, "", kHintHidden);
  // By hand: ln 2, then ln 6: m = ln 6, l = 1/3 + 1, acc = 6/3 + 2.
  judge_add_key(task, {std::log(2), std::log(6)}, {{6}, {2}}, "", kHintRescale);
  judge_add_key(task, {std::log(6), std::log(2)}, {{2}, {6}}, "", kHintRescale);
  judge_add_key(task, {1000, 1001}, {{1}, {2}}, "", kHintRescale);
  judge_add_key(task, {hidden, -3}, {{1}, {2}}, "", kHintHidden);
  judge_add_key(task, {-3, hidden}, {{1}, {2}}, "", kHintHidden);
  for (const int num_keys : {3, 10, 100}) {
    RandomData random(num_keys);
    Row scores = random.numbers(num_keys);
    for (double& score : scores) score *= 20;
    const Rows values = random.rows(num_keys, 3);
    const std::string origin = " (random with seed " + show(num_keys) + ")";
    judge_add_key(task, scores, values, origin, kHintRescale);
    std::sort(scores.begin(), scores.end());  // a new maximum with every key
    judge_add_key(task, scores, values, origin + ", scores sorted", kHintRescale);
  }
}

/// The state over some keys that is as exact as doubles allow.
AttentionState exact_state(const Row& scores, const Rows& values, std::size_t head_size) {
  const Sums sums = sums_of(scores, values, head_size);
  AttentionState state = {Row(head_size, 0.0), kMinusInfinity};
  if (sums.num_keys == 0) return state;
  for (std::size_t d = 0; d < head_size; ++d) {
    state.output[d] = static_cast<double>(sums.acc[d] / sums.l);
  }
  state.lse = static_cast<double>(sums.m + std::log(sums.l));
  return state;
}

void expect_state(const TaskCheck& task,
                  const AttentionState& got,
                  const AttentionState& expected,
                  const Row& allowed_output,
                  double allowed_lse) {
  task.expect_close("output", got.output, expected.output, allowed_output);
  if (expected.lse == kMinusInfinity) {
    task.expect_equal("lse", got.lse, expected.lse);
  } else {
    task.expect_close("lse", got.lse, expected.lse, allowed_lse);
  }
}

void judge_finish(TaskCheck& task, std::int64_t size, const RunningState& state, const char* hint) {
  task.input(size, "m " + show(state.m) + ", l " + show(state.l) + ", acc " + show(state.acc),
             hint);
  AttentionState expected = {Row(state.acc.size(), 0.0), kMinusInfinity};
  Row allowed(state.acc.size(), 0.0);
  double allowed_lse = 0;
  if (state.l > 0) {
    for (std::size_t d = 0; d < state.acc.size(); ++d) {
      expected.output[d] = static_cast<double>(static_cast<long double>(state.acc[d]) / state.l);
      allowed[d] = 4 * kRoundoff * std::abs(expected.output[d]);  // 1 / l, then a product
    }
    const long double log_of_l = std::log(static_cast<long double>(state.l));
    expected.lse = static_cast<double>(state.m + log_of_l);
    // A logarithm is good to 2 roundoffs, one of another base is multiplied by a rounded constant.
    allowed_lse =
        kRoundoff * static_cast<double>(6 * std::abs(log_of_l) + 2 * std::abs(state.m + log_of_l));
  }
  expect_state(task, kAnswer.finish(state), expected, allowed, allowed_lse);
}

void check_finish(TaskCheck& task) {
  const char* const hint = "output = acc / l. exp(m) was taken out of l, so lse = m + ln(l).";
  const char* const hint_empty =
      "No key: l is 0, and 0/0 is NaN. An empty sum is 0, and its logarithm "
      "is -infinity.";
  judge_finish(task, 0, no_keys_yet(2), hint_empty);
  judge_finish(task, 1, {.m = -7, .l = 1, .acc = {3, 4}}, hint);
  judge_finish(task, 2, {.m = std::log(6), .l = 4.0 / 3, .acc = {4, 0}},
               hint);  // by hand: 3 and 0, ln 8
  judge_finish(task, 4, {.m = 1000, .l = 2, .acc = {8, -2}}, hint);
}

std::string describe(const AttentionState& state) {
  return "{output " + show(state.output) + ", lse " + show(state.lse) + "}";
}

/// How far off a merged state may be, where each part is merged into those before. A weight's exponent is a
/// difference of LSEs, which may be rounded three times, and all but the first part's may be off by a
/// roundoff of themselves; its exponential is good to 2 roundoffs; the weights' sum, the share, the product
/// and the sum round once each, and an error of the sum of weights counts like one of a weight.
struct MergeError {
  Row output;
  double lse;
};
MergeError merge_error(const std::vector<AttentionState>& parts, const AttentionState& whole) {
  MergeError error = {Row(whole.output.size(), 0.0), 0};
  const double merges = static_cast<double>(parts.size());
  double largest_lse = std::isinf(whole.lse) ? 0 : std::abs(whole.lse);
  for (const AttentionState& part : parts) {
    if (part.lse != kMinusInfinity) largest_lse = std::max(largest_lse, std::abs(part.lse));
  }
  double slope = 0;  // of the LSE by an error of a weight's exponent
  for (const AttentionState& part : parts) {
    if (part.lse == kMinusInfinity) continue;
    const double distance = whole.lse - part.lse;
    const double weight = std::exp(-distance);
    slope += distance * weight;
    const double of_lses = merges > 2 ? merges * largest_lse : 0;
    const double relative = 2 * (2 * (3 * distance + 2 + of_lses) + 4 * merges);
    for (std::size_t d = 0; d < whole.output.size(); ++d) {
      error.output[d] += relative * kRoundoff * weight * std::abs(part.output[d]);
    }
  }
  // Of the LSE: its own last bit in every merge, and the relative error of the sum of weights.
  error.lse = 2 * kRoundoff * merges * (3 * slope + 8 + 2 * largest_lse);
  return error;
}

/// Merges by hand, in long double.
AttentionState exact_merge(const std::vector<AttentionState>& parts, std::size_t head_size) {
  AttentionState merged = {Row(head_size, 0.0), kMinusInfinity};
  for (const AttentionState& part : parts) merged.lse = std::max(merged.lse, part.lse);
  if (merged.lse == kMinusInfinity) return merged;
  long double sum = 0;
  std::vector<long double> output(head_size);
  for (const AttentionState& part : parts) {
    if (part.lse == kMinusInfinity) continue;
    const long double weight = std::exp(static_cast<long double>(part.lse) - merged.lse);
    sum += weight;
    for (std::size_t d = 0; d < head_size; ++d) output[d] += weight * part.output[d];
  }
  for (std::size_t d = 0; d < head_size; ++d)
    merged.output[d] = static_cast<double>(output[d] / sum);
  merged.lse = static_cast<double>(merged.lse + std::log(sum));
  return merged;
}

void judge_merge(TaskCheck& task,
                 std::int64_t size,
                 const AttentionState& a,
                 const AttentionState& b,
                 const std::string& hint) {
  task.input(size, "a " + describe(a) + ", b " + describe(b), hint);
  const AttentionState expected = exact_merge({a, b}, a.output.size());
  const MergeError error = merge_error({a, b}, expected);
  expect_state(task, kAnswer.merge_states(a, b), expected, error.output, error.lse);
}

void check_merge_states(TaskCheck& task) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string hint =
      "A side counts by its share of the sum of exponentials: exp(lse) of it over exp(lse) of "
      "both.";
  const std::string hint_nothing =
      "An lse of -infinity says no keys. Of two such sides the result is zeros and -infinity, and "
      "-infinity minus -infinity is NaN.";
  const std::string hint_empty =
      "A side without keys has the weight 0, but its output may hold anything, and 0 times NaN is "
      "NaN: leave it out.";
  const std::string hint_large =
      "exp(800) is larger than any double. Only the difference of two LSEs is needed.";
  judge_merge(task, 0, {{0}, kMinusInfinity}, {{0}, kMinusInfinity}, hint_nothing);
  judge_merge(task, 0, {{nan}, kMinusInfinity}, {{nan}, kMinusInfinity}, hint_nothing);
  judge_merge(task, 1, {{3}, 0.5}, {{0}, kMinusInfinity}, hint_empty);
  judge_merge(task, 1, {{nan}, kMinusInfinity}, {{3}, 0.5}, hint_empty);
  judge_merge(task, 1, {{3}, -800}, {{nan}, kMinusInfinity}, hint_empty);
  judge_merge(task, 2, {{1}, 0}, {{3}, 0}, hint);                      // by hand: 2 and ln 2
  judge_merge(task, 2, {{3}, std::log(8)}, {{6}, std::log(4)}, hint);  // by hand: 4 and ln 12
  judge_merge(task, 2, {{6}, std::log(4)}, {{3}, std::log(8)}, hint);
  judge_merge(task, 2, {{1}, 800}, {{3}, 801}, hint_large);
  judge_merge(task, 2, {{1}, -800}, {{3}, -801}, hint_large);
  judge_merge(task, 2, {{1}, 800}, {{3}, -800}, hint_large);
  RandomData random(1);
  for (const int head_size : {2, 3, 8}) {
    const AttentionState a = {random.numbers(head_size), 3 * random.number()};
    const AttentionState b = {random.numbers(head_size), 3 * random.number()};
    judge_merge(task, 2 * head_size, a, b, hint);
  }
}

void check_natural_lse(TaskCheck& task) {
  const std::string hint = "log2(x) = ln(x) / ln(2), so ln(x) is which of the two, times what?";
  // By hand: log2 of these sums, and their natural logarithms.
  std::int64_t size = 0;
  for (const double sum : {1.0, 2.0, 0.25, 12.0, 1e-300, 1e300}) {
    task.input(++size, "lse_base_2 " + show(std::log2(sum)) + ", which is log2 of " + show(sum),
               hint);
    const double expected = std::log(sum);
    // log2 was rounded, the constant is, the product is, and each logarithm is good to 2 roundoffs.
    task.expect_close("natural lse", kAnswer.natural_lse(std::log2(sum)), expected,
                      2 * 6 * kRoundoff * std::abs(expected));
  }
  task.input(++size, "lse_base_2 -inf", "No keys are no keys in any base.");
  task.expect_equal("natural lse", kAnswer.natural_lse(kMinusInfinity), kMinusInfinity);
}

void judge_merge_all(TaskCheck& task,
                     const std::vector<AttentionState>& parts,
                     int head_size,
                     const std::string& hint) {
  std::string text;
  for (const AttentionState& part : parts) text += (text.empty() ? "" : ", ") + describe(part);
  const std::int64_t size = static_cast<std::int64_t>(parts.size());
  task.input(size, parts.empty() ? "no parts, head_size " + show(head_size) : "parts " + text,
             hint);
  const AttentionState expected = exact_merge(parts, head_size);
  const MergeError error = merge_error(parts, expected);
  expect_state(task, kAnswer.merge_all(parts, head_size), expected, error.output, error.lse);
}

/// Attention over ten keys, whole and from parts of a length, with a hidden one among them.
void judge_parts_of_keys(TaskCheck& task, std::size_t part_len) {
  const std::size_t num_keys = 10;
  RandomData random(10);
  Row scores = random.numbers(num_keys);
  for (double& score : scores) score *= 5;
  scores[4] = kMinusInfinity;
  const Rows values = random.rows(num_keys, 3);
  std::vector<AttentionState> parts;
  for (std::size_t first = 0; first < num_keys; first += part_len) {
    RunningState state = no_keys_yet(3);
    const std::size_t end = std::min(first + part_len, num_keys);
    for (std::size_t i = first; i < end; ++i) kAnswer.add_key(state, scores[i], values[i]);
    parts.push_back(kAnswer.finish(state));
  }
  task.input(static_cast<std::int64_t>(num_keys),
             "parts of " + show(static_cast<int>(part_len)) + " keys of " +
                 describe(scores, values, " (random with seed 10)"),
             "Whatever the length of the parts, they are the attention over all keys.");
  const AttentionState expected = exact_state(scores, values, 3);
  MergeError error = merge_error(parts, expected);
  // The parts' own errors come on top: those of their sums, above and below the fraction.
  const Sums sums = sums_of(scores, values, 3);
  const double of_parts = 2 * relative_error(sums);
  for (std::size_t d = 0; d < 3; ++d) {
    error.output[d] += of_parts * static_cast<double>(sums.magnitude[d] / sums.l);
  }
  error.lse += of_parts;
  expect_state(task, kAnswer.merge_all(parts, 3), expected, error.output, error.lse);
}

void check_merge_all(TaskCheck& task) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string hint =
      "Begin with the state that changes nothing: zeros and -infinity. Then merge one part after "
      "the "
      "other.";
  const AttentionState none = {{nan, nan}, kMinusInfinity};
  judge_merge_all(task, {}, 2, hint);
  judge_merge_all(task, {none}, 2, hint);
  judge_merge_all(task, {{{1, 2}, -5}}, 2, hint);
  judge_merge_all(task, {{{1, 2}, 700}, {{3, 4}, 702}}, 2, hint);
  judge_merge_all(task, {none, {{3, 6}, std::log(8)}, {{6, 3}, std::log(4)}}, 2, hint);
  // By hand: three equal parts and one of three times their sum: (1 + 2 + 3 + 3 · 6) / 6 = 4.
  judge_merge_all(task, {{{1}, 0}, {{2}, 0}, {{3}, 0}, {{6}, std::log(3)}}, 1, hint);
  for (const std::size_t part_len : {10, 5, 4, 3, 1}) judge_parts_of_keys(task, part_len);
}

}  // namespace
}  // namespace pagelab::lesson_04

int main(int argc, char** argv) {
  using namespace pagelab::lesson_04;
  pagelab::lessons::Checker checker("04", "online softmax and merging", kAnswer.path);
  checker.add_task("add_key", check_add_key);
  checker.add_task("finish", check_finish);
  checker.add_task("merge_states", check_merge_states);
  checker.add_task("natural_lse", check_natural_lse);
  checker.add_task("merge_all", check_merge_all);
  return checker.run(argc, argv);
}
