// Lesson 01: attention of one query over ten keys and values that lie in a row, every number
// printed; then who sees whom when two new queries meet five keys.

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

using Row = std::vector<double>;  // one query, key or value: [head_size]
using Rows = std::vector<Row>;    // [num_keys][head_size]

constexpr int kNumKeys = 10, kHeadSize = 3;

void print_attention(const Row& query, const Rows& keys, const Rows& values) {
  // Scores: how well each key fits the query. Their maximum is kept for the next step.
  Row scores(kNumKeys);
  double max_score = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kNumKeys; ++i) {
    double dot = 0;
    for (int d = 0; d < kHeadSize; ++d) dot += query[d] * keys[i][d];
    scores[i] = dot / std::sqrt(kHeadSize);
    if (scores[i] > max_score) max_score = scores[i];
  }

  // Softmax: exponentials of what each score lacks to the maximum, and their sum.
  Row exponentials(kNumKeys);
  double sum = 0;
  for (int i = 0; i < kNumKeys; ++i) {
    exponentials[i] = std::exp(scores[i] - max_score);
    sum += exponentials[i];
  }

  // Output: every value, weighted with its share of the sum.
  Row output(kHeadSize, 0.0);
  std::printf("key      score  exponential    weight\n");
  for (int i = 0; i < kNumKeys; ++i) {
    const double weight = exponentials[i] / sum;
    for (int d = 0; d < kHeadSize; ++d) output[d] += weight * values[i][d];
    std::printf("%3d  % .6f     %.6f  %.6f\n", i, scores[i], exponentials[i], weight);
  }
  std::printf("max  % .6f, sum of exponentials %.6f\n", max_score, sum);
  std::printf("output [% .6f % .6f % .6f]\n", output[0], output[1], output[2]);
  std::printf("log-sum-exp %.6f = max + ln(sum)\n", max_score + std::log(sum));
}

// Query i of n stands at position m - n + i of m: the last query is the last token.
bool is_visible(int query_idx, int num_queries, int key_idx, int num_keys) {
  const int query_position = num_keys - num_queries + query_idx;
  return key_idx <= query_position;
}

void print_visibility(int num_queries, int num_keys) {
  std::printf("\n%d queries, %d keys:\n", num_queries, num_keys);
  for (int query_idx = 0; query_idx < num_queries; ++query_idx) {
    std::printf("query %d ", query_idx);
    for (int key_idx = 0; key_idx < num_keys; ++key_idx) {
      const bool visible = is_visible(query_idx, num_queries, key_idx, num_keys);
      std::printf(" %s", visible ? "x" : ".");
    }
    std::printf("\n");
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  const Row query = {0.3, -1.1, 0.7};
  Rows keys(kNumKeys, Row(kHeadSize)), values = keys;
  for (int i = 0; i < kNumKeys; ++i) {
    for (int d = 0; d < kHeadSize; ++d) keys[i][d] = std::sin(3 * i + d);
    for (int d = 0; d < kHeadSize; ++d) values[i][d] = std::cos(5 * i + 2 * d);
  }
  print_attention(query, keys, values);
  print_visibility(2, 5);
  print_visibility(5, 2);
}
