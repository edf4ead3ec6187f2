// Judges an answer to the exercise of lesson 01. Expected numbers are computed here in long double (11
// bits more than double), or by hand where a comment says so. What an answer may be off by is derived:
// operations may come in any order, so a sum of n terms may lose n roundoffs of the sum of their
// magnitudes; twice that, for what is of second order.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lessons/01_contiguous_attention/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"

namespace pagelab::lesson_01 {
namespace {

using lessons::kRoundoff;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

using LongRow = std::vector<long double>;

/// Numbers that are right, and how far off an answer may be.
struct Expected {
  Row values;
  Row allowed;
};

double scale_for(int head_size) { return 1 / std::sqrt(static_cast<double>(head_size)); }

Expected expected_scores(const Row& query, const Rows& keys, double scale) {
  Expected expected;
  for (const Row& key : keys) {
    long double dot = 0;
    long double magnitude = 0;
    for (std::size_t d = 0; d < query.size(); ++d) {
      dot += static_cast<long double>(query[d]) * key[d];
      magnitude += std::abs(static_cast<long double>(query[d]) * key[d]);
    }
    expected.values.push_back(static_cast<double>(dot * scale));
    // A product, a sum and the scale: query.size() + 2 roundings of each term at most.
    const double roundings = static_cast<double>(query.size()) + 2;
    expected.allowed.push_back(
        static_cast<double>(2 * roundings * kRoundoff * magnitude * std::abs(scale)));
  }
  return expected;
}

LongRow exact_weights(const Row& scores) {
  const long double max_score = *std::max_element(scores.begin(), scores.end());
  LongRow weights;
  long double sum = 0;
  for (double score : scores) {
    weights.push_back(std::exp(score - max_score));
    sum += weights.back();
  }
  for (long double& weight : weights) weight /= sum;
  return weights;
}

/// How far off a weight may be, relative to it: the difference to the maximum is rounded (twice, in
/// the exponential and in the sum), exp() is good to 2 roundoffs (twice), n terms are added, one
/// division.
double relative_error_of_weights(const Row& scores) {
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  const double roundings = 2 * (*high - *low) + 2 * 2 + static_cast<double>(scores.size()) + 1;
  return 2 * roundings * kRoundoff;
}

void check_scores_of(TaskCheck& task) {
  for (int head_size : {1, 2, 3, 5, 8, 64}) {
    for (int num_keys : {1, 2, 7}) {
      RandomData random(head_size);
      const Row query = random.numbers(head_size);
      const Rows keys = random.rows(num_keys, head_size);
      const double scale = head_size == 1 ? 0.25 : scale_for(head_size);
      task.input(head_size,
                 "query " + show(query) + ", keys " + show(keys) + ", scale " + show(scale) +
                     " (random with seed " + show(head_size) + ")",
                 "A score is the sum of query[d] * key[d] over all d, times the scale.");
      const Expected expected = expected_scores(query, keys, scale);
      task.expect_close("scores", kAnswer.scores_of(query, keys, scale), expected.values,
                        expected.allowed);
    }
  }
}

void judge_softmax(TaskCheck& task,
                   const Row& scores,
                   const std::string& origin,
                   const std::string& hint) {
  task.input(static_cast<std::int64_t>(scores.size()), "scores " + show(scores) + origin, hint);
  Expected expected;
  for (long double weight : exact_weights(scores)) {
    expected.values.push_back(static_cast<double>(weight));
    const double allowed = relative_error_of_weights(scores) * static_cast<double>(weight);
    expected.allowed.push_back(allowed + std::numeric_limits<double>::min());
  }
  task.expect_close("weights", kAnswer.softmax(scores), expected.values, expected.allowed);
}

void check_softmax(TaskCheck& task) {
  const std::string hint = "Each weight is exp(score) divided by the sum of all exp(score).";
  const std::string hint_big =
      "exp(1000) is larger than any double, but softmax does not change when the same number is "
      "subtracted from all scores. Which number makes the largest exponent 0?";
  const std::string hint_small =
      "exp(-1000) is 0 in double, and 0/0 is NaN: the number to subtract has to come from the "
      "scores, "
      "not from a start value of 0.";
  judge_softmax(task, {0.5}, "", hint);
  judge_softmax(task, {0, std::log(3.0)}, "", hint);  // by hand: weights 1/4 and 3/4
  judge_softmax(task, {1000, 1001}, "", hint_big);
  judge_softmax(task, {-1000, -1001}, "", hint_small);
  judge_softmax(task, {-60000, 0, -60003}, "", hint_big);
  for (int num_keys : {3, 10, 100}) {
    RandomData random(num_keys);
    Row scores = random.numbers(num_keys);
    for (double& score : scores) score *= 20;
    judge_softmax(task, scores, " (random with seed " + show(num_keys) + ")", hint);
  }
}

void check_weighted_values(TaskCheck& task) {
  for (int num_keys : {1, 2, 3, 10}) {
    for (int head_size : {1, 3}) {
      RandomData random(num_keys);
      Row weights = random.numbers(num_keys);
      for (double& weight : weights) weight = std::abs(weight);
      const Rows values = random.rows(num_keys, head_size);
      task.input(
          num_keys,
          "weights " + show(weights) + ", values " + show(values) + " (random with seed " +
              show(num_keys) + ")",
          "Element d of the output is the sum of weights[j] * values[j][d] over all keys j.");
      Expected expected;
      for (int d = 0; d < head_size; ++d) {
        long double sum = 0;
        long double magnitude = 0;
        for (int j = 0; j < num_keys; ++j) {
          sum += static_cast<long double>(weights[j]) * values[j][d];
          magnitude += std::abs(static_cast<long double>(weights[j]) * values[j][d]);
        }
        expected.values.push_back(static_cast<double>(sum));
        expected.allowed.push_back(static_cast<double>(2 * (num_keys + 1) * kRoundoff * magnitude));
      }
      task.expect_close("output", kAnswer.weighted_values(weights, values), expected.values,
                        expected.allowed);
    }
  }
}

void check_is_visible(TaskCheck& task) {
  const std::string hint =
      "The last query is the last token of the sequence and sees every key. Which position has the "
      "query "
      "before it, and which has query 0?";
  for (int total = 2; total <= 12; ++total) {
    for (int num_queries = 1; num_queries < total; ++num_queries) {
      const int num_keys = total - num_queries;
      // Counted off from the corner: the last query sees all keys, each one before it a key less.
      int num_visible = num_keys;
      for (int query_idx = num_queries - 1; query_idx >= 0; --query_idx, --num_visible) {
        for (int key_idx = 0; key_idx < num_keys; ++key_idx) {
          task.input(total,
                     "query " + show(query_idx) + " of " + show(num_queries) + ", key " +
                         show(key_idx) + " of " + show(num_keys),
                     hint);
          task.expect_equal(
              "visible:", kAnswer.is_visible(query_idx, num_queries, key_idx, num_keys),
              key_idx < num_visible);
        }
      }
    }
  }
}

/// What one query gives, and how far off an answer may be: the weights' error and the sum's, both
/// relative to Σ weight · |value|. An error of the scores moves both exponential and sum.
Expected expected_output(const Row& query, const Rows& keys, const Rows& values, double scale) {
  if (keys.empty()) return {Row(query.size(), 0.0), Row(query.size(), 0.0)};
  const Expected scores = expected_scores(query, keys, scale);
  const LongRow weights = exact_weights(scores.values);
  const double score_error = *std::max_element(scores.allowed.begin(), scores.allowed.end());
  const double relative_error = 2 * score_error + relative_error_of_weights(scores.values) +
                                2 * (static_cast<double>(keys.size()) + 1) * kRoundoff;
  Expected expected;
  for (std::size_t d = 0; d < query.size(); ++d) {
    long double sum = 0;
    long double magnitude = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      sum += weights[j] * values[j][d];
      magnitude += weights[j] * std::abs(static_cast<long double>(values[j][d]));
    }
    expected.values.push_back(static_cast<double>(sum));
    // Scores enter rounded to double here: their own last bit counts once more.
    expected.allowed.push_back(static_cast<double>(2 * relative_error * magnitude));
  }
  return expected;
}

void judge_attention(TaskCheck& task,
                     const Rows& queries,
                     const Rows& keys,
                     const Rows& values,
                     double scale,
                     const std::string& origin,
                     const std::string& hint) {
  const std::size_t head_size = queries[0].size();
  task.input(static_cast<std::int64_t>((queries.size() + 2 * keys.size()) * head_size),
             "queries " + show(queries) + ", keys " + show(keys) + ", values " + show(values) +
                 ", scale " + show(scale) + origin,
             hint);
  const Rows got = kAnswer.causal_attention(queries, keys, values, scale);
  task.expect_equal("rows of output:", static_cast<int>(got.size()),
                    static_cast<int>(queries.size()));
  std::size_t num_visible = keys.size();
  for (std::size_t row = queries.size(); row-- > 0;) {
    const Rows seen_keys(keys.begin(), keys.begin() + num_visible);
    const Rows seen_values(values.begin(), values.begin() + num_visible);
    const Expected expected = expected_output(queries[row], seen_keys, seen_values, scale);
    task.expect_close("output of query " + show(static_cast<int>(row)) + ":", got[row],
                      expected.values, expected.allowed);
    if (num_visible > 0) --num_visible;
  }
}

void check_causal_attention(TaskCheck& task) {
  const std::string hint_empty = "A query that sees no key has nothing to divide: its output is 0.";
  const std::string hint_hidden =
      "A hidden key takes no part: it is in neither the maximum nor the sum, whatever its score. A "
      "score of "
      "0, or a large negative one, is a legal score, and no way to hide a key.";
  const std::string hint =
      "Scores of the visible keys, their softmax, the weighted sum of their values.";
  // By hand: the first query sees key 0 alone, 1; the second both, (1 + 3 e^-3) / (1 + e^-3).
  judge_attention(task, {{1}, {1}}, {{-60000}, {-60003}}, {{1}, {3}}, 1, "", hint_hidden);
  // By hand: equal scores give means; 5 queries meet 2 keys: 0, 0, 0, 10, 15.
  judge_attention(task, {{0}, {0}, {0}, {0}, {0}}, {{1}, {2}}, {{10}, {20}}, 1, "", hint_empty);
  // By hand: 2 queries meet 5 keys: the means of 0..3 and of 0..4, 1.5 and 2.
  judge_attention(task, {{0}, {0}}, {{1}, {1}, {1}, {1}, {1}}, {{0}, {1}, {2}, {3}, {4}}, 1, "",
                  hint_hidden);
  struct Sizes {
    int num_queries, num_keys, head_size;
  };
  int seed = 0;
  for (const auto& [num_queries, num_keys, head_size] : std::vector<Sizes>{
           {1, 4, 3}, {3, 3, 3}, {2, 5, 3}, {3, 3, 8}, {2, 5, 8}, {7, 16, 3}, {7, 16, 8}}) {
    RandomData random(++seed);
    const Rows queries = random.rows(num_queries, head_size);
    const Rows keys = random.rows(num_keys, head_size);
    const Rows values = random.rows(num_keys, head_size);
    judge_attention(task, queries, keys, values, scale_for(head_size),
                    " (random with seed " + show(seed) + ")", hint);
  }
}

}  // namespace
}  // namespace pagelab::lesson_01

int main(int argc, char** argv) {
  using namespace pagelab::lesson_01;
  pagelab::lessons::Checker checker("01", "contiguous attention", kAnswer.path);
  checker.add_task("scores_of", check_scores_of);
  checker.add_task("softmax", check_softmax);
  checker.add_task("weighted_values", check_weighted_values);
  checker.add_task("is_visible", check_is_visible);
  checker.add_task("causal_attention", check_causal_attention);
  return checker.run(argc, argv);
}
