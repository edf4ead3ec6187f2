// The small parts of a Llama, against values calculated by hand.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference/model/greedy.h"
#include "reference/model/linear.h"
#include "reference/model/rms_norm.h"
#include "reference/model/rope.h"
#include "reference/model/swiglu.h"

using namespace pagelab;

namespace {

// One rounding of float64.
constexpr double kUnitRoundoff = 0x1p-53;

RowMatrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RowMatrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<double>(random()) * 0x1p-63 - 1.0;
  }
  return matrix;
}

}  // namespace

TEST_SUITE("RMSNorm") {
  TEST_CASE("a row is divided by its root mean square before it is scaled") {
    // Row 0: mean square (4 + 16) / 2 = 10, and √(10 + 6) = 4. Row 1: √(0 + 6), times zero.
    RowMatrix x(2, 2);
    x << 2, 4, 0, 0;
    RowVector weight(2);
    weight << 8, -3;
    const RowMatrix y = rms_norm(x, weight, 6.0);
    CHECK(y(0, 0) == 4.0);   // 2 / 4 · 8
    CHECK(y(0, 1) == -3.0);  // 4 / 4 · −3
    CHECK(y(1, 0) == 0.0);
    CHECK(y(1, 1) == 0.0);
  }
}

TEST_SUITE("RoPE") {
  TEST_CASE("element i of the first half turns with element i of the second half") {
    // theta 100, head size 4: pair 0 turns by 1 radian a position, pair 1 by 100^(-2/4) = 0.1.
    const std::vector<std::int64_t> positions = {0, 1};
    const RopeAngles angles = rope_angles(positions, 4, 100.0);
    RowMatrix x(2, 4);
    x << 1, 2, 3, 4, 1, 2, 3, 4;
    apply_rope(x, angles);

    CHECK(x(0, 0) == 1.0);
    CHECK(x(0, 1) == 2.0);
    CHECK(x(0, 2) == 3.0);
    CHECK(x(0, 3) == 4.0);
    // cos 1 = 0.5403023058681398, sin 1 = 0.8414709848078965;
    // cos 0.1 = 0.9950041652780258, sin 0.1 = 0.0998334166468282.
    // Two products, a sum, and angle, cosine and sine rounded once or twice: 8 roundings of at
    // most 4.
    const double allowed = 8 * kUnitRoundoff * 4;
    CHECK(std::abs(x(1, 0) - -1.9841106485555497) <= allowed);  // 1 cos 1 − 3 sin 1
    CHECK(std::abs(x(1, 2) - 2.4623779024123157) <= allowed);   // 3 cos 1 + 1 sin 1
    CHECK(std::abs(x(1, 1) - 1.5906746639687390) <= allowed);   // 2 cos 0.1 − 4 sin 0.1
    CHECK(std::abs(x(1, 3) - 4.1796834944057594) <= allowed);   // 4 cos 0.1 + 2 sin 0.1
  }

  TEST_CASE("the dot product of a query and a key depends on their distance alone") {
    const Eigen::Index head_size = 6;
    const RowMatrix vectors = random_matrix(2, head_size, 1);
    const auto dot_at = [&](std::int64_t query_position, std::int64_t key_position) {
      const std::vector<std::int64_t> positions = {query_position, key_position};
      RowMatrix turned = vectors;
      apply_rope(turned, rope_angles(positions, head_size, 10000.0));
      double dot = 0;
      for (Eigen::Index i = 0; i < head_size; ++i) dot += turned(0, i) * turned(1, i);
      return dot;
    };
    // An angle near 1000 radians is rounded by up to 2^-44, and so is each of the six products.
    const double allowed = 6 * 2 * 0x1p-44;
    CHECK(std::abs(dot_at(5, 2) - dot_at(1000, 997)) <= allowed);
    CHECK(std::abs(dot_at(5, 2) - dot_at(5, 3)) > 1e-3);
  }

  TEST_CASE("every head of a row turns by the same angles") {
    const std::vector<std::int64_t> positions = {7};
    const RowMatrix one_head = random_matrix(1, 4, 2);
    RowMatrix three_heads(1, 12);
    three_heads << one_head, one_head, one_head;
    apply_rope(three_heads, rope_angles(positions, 4, 10000.0));
    RowMatrix expected = one_head;
    apply_rope(expected, rope_angles(positions, 4, 10000.0));
    for (Eigen::Index i = 0; i < 12; ++i) CHECK(three_heads(0, i) == expected(0, i % 4));
  }
}

TEST_SUITE("SwiGLU") {
  TEST_CASE("silu is the value times its sigmoid and stays finite far out") {
    const double ln3 = std::log(3.0);
    // sigmoid(ln 3) = 1 / (1 + 1/3) = 3/4, sigmoid(−ln 3) = 1/4. Four roundings.
    CHECK(std::abs(silu(ln3) - 0.75 * ln3) <= 4 * kUnitRoundoff * ln3);
    CHECK(std::abs(silu(-ln3) + 0.25 * ln3) <= 4 * kUnitRoundoff * ln3);
    CHECK(silu(0.0) == 0.0);
    CHECK(silu(1000.0) == 1000.0);
    CHECK(silu(-1000.0) == 0.0);
  }

  TEST_CASE("the gate goes through silu and the other projection does not") {
    RowMatrix gate(1, 2);
    gate << 0.0, 1000.0;
    RowMatrix up(1, 2);
    up << 5.0, -0.5;
    const RowMatrix y = swiglu(gate, up);
    CHECK(y(0, 0) == 0.0);
    CHECK(y(0, 1) == -500.0);
  }
}

TEST_SUITE("linear") {
  TEST_CASE("a row times a matrix is the sum of the matrix's rows so weighted") {
    RowMatrix x(2, 3);
    x << 1, 2, 3, 0, -1, 0.5;
    RowMatrix weight(3, 2);
    weight << 1, 10, 2, 20, 4, 40;
    const RowMatrix y = linear(x, weight);
    CHECK(y(0, 0) == 17.0);  // 1·1 + 2·2 + 3·4
    CHECK(y(0, 1) == 170.0);
    CHECK(y(1, 0) == 0.0);  // −1·2 + 0.5·4
    CHECK(y(1, 1) == 0.0);
  }

  TEST_CASE("a row has the same bits whoever else is in the batch") {
    const RowMatrix x = random_matrix(7, 33, 3);
    const RowMatrix weight = random_matrix(33, 13, 4);
    const RowMatrix together = linear(x, weight);
    for (Eigen::Index row = 0; row < x.rows(); ++row) {
      const RowMatrix alone = linear(x.row(row), weight);
      for (Eigen::Index i = 0; i < alone.cols(); ++i) CHECK(alone(0, i) == together(row, i));
    }
  }
}

TEST_SUITE("greedy choice") {
  TEST_CASE("the largest logit wins and the gap is its lead over the second") {
    RowVector logits(4);
    logits << -3.0, 2.5, -0.5, 2.0;
    CHECK(greedy_choice(logits).token_id == 1);
    CHECK(greedy_choice(logits).top2_gap == 0.5);
  }

  TEST_CASE("of equal logits the first wins with no lead") {
    RowVector logits(3);
    logits << 1.0, 7.0, 7.0;
    CHECK(greedy_choice(logits).token_id == 1);
    CHECK(greedy_choice(logits).top2_gap == 0.0);
  }

  TEST_CASE("a NaN among the logits shows in the gap") {
    RowVector logits(3);
    logits << 1.0, std::numeric_limits<double>::quiet_NaN(), 7.0;
    CHECK(std::isnan(greedy_choice(logits).top2_gap));
  }
}
