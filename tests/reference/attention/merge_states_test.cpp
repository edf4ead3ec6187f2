#include "reference/attention/merge_states.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "reference/attention/contiguous.h"
#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

using State = AttentionState<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A base-2 logarithm cannot take the place of a natural one.
static_assert(!std::is_convertible_v<LseBase2<float>, LseNatural<float>>);
static_assert(!std::is_assignable_v<LseNatural<float>&, LseBase2<float>>);

void check_same_bits(const State& got, const State& expected) {
  CHECK(bits_of(got.lse.value) == bits_of(expected.lse.value));
  REQUIRE(got.output.size() == expected.output.size());
  for (std::size_t d = 0; d < got.output.size(); ++d) {
    CHECK(bits_of(got.output[d]) == bits_of(expected.output[d]));
  }
}

State random_state(test::Random& random) {
  return {{static_cast<float>(random.real(-2, 2)), static_cast<float>(random.real(-2, 2))},
          {static_cast<float>(random.real(-9, 9))}};
}

}  // namespace

TEST_SUITE("merging of states") {
  TEST_CASE("C1: two empty states merge into an empty one") {
    const State merged = merge_states(empty_state<float>(2), empty_state<float>(2));
    check_same_bits(merged, {{0.0f, 0.0f}, {-kInfinity}});
  }

  TEST_CASE("C1: an empty state changes no bit of the other one even if it holds NaN") {
    const State real{{4.0f, -0.0f}, {0.7f}};
    const State empty{{kNaN, kInfinity}, {-kInfinity}};
    check_same_bits(merge_states(real, empty), real);
    check_same_bits(merge_states(empty, real), real);
    check_same_bits(merge_states(empty, empty), {{0.0f, 0.0f}, {-kInfinity}});

    const State parts[] = {empty, empty, real, empty, empty};
    check_same_bits(merge_states(std::span<const State>(parts)), real);
  }

  TEST_CASE("an LSE of plus infinity marks an empty set too") {
    const State real{{4.0f}, {0.7f}};
    const State marked{{kNaN}, {kInfinity}};
    check_same_bits(merge_states(marked, real), real);
    check_same_bits(merge_states(real, marked), real);
    check_same_bits(merge_states(marked, marked), {{0.0f}, {-kInfinity}});
  }

  TEST_CASE("C1: merging is symmetric to the bit and finite for finite states") {
    constexpr std::uint64_t kSeed = 41;
    test::Random random(kSeed);
    for (int round = 0; round < 1000; ++round) {
      const State a = random_state(random);
      const State b = random_state(random);
      const State merged = merge_states(a, b);
      check_same_bits(merge_states(b, a), merged);
      CHECK(std::isfinite(merged.lse.value));
      CHECK(std::isfinite(merged.output[0]));
    }
    // LSEs whose exponentials overflow or vanish.
    const State huge = merge_states(State{{1.0f}, {3e38f}}, State{{2.0f}, {-3e38f}});
    check_same_bits(huge, {{1.0f}, {3e38f}});
    const State equals = merge_states(State{{1.0f}, {500.0f}}, State{{2.0f}, {500.0f}});
    CHECK(equals.output[0] == 1.5f);
  }

  TEST_CASE("C2: a base-2 LSE is converted before it is merged") {
    // Prefix: 3 keys of score 0 and value 0. Suffix: 1 key of score 0 and value 4. Mean: 1.
    const LseBase2<double> prefix_lse{std::log2(3.0)};
    const AttentionState<double> prefix{{0.0}, prefix_lse.to_natural()};
    const AttentionState<double> suffix{{4.0}, {0.0}};
    const AttentionState<double> merged = merge_states(prefix, suffix);
    CHECK(std::abs(merged.output[0] - 1.0) < 1e-15);
    CHECK(std::abs(merged.lse.value - std::log(4.0)) < 1e-15);
    CHECK(std::abs(merged.lse.to_base2().value - 2.0) < 1e-15);
  }

  TEST_CASE("a NaN LSE is not taken for an empty set") {
    const State merged = merge_states(State{{1.0f}, {kNaN}}, State{{2.0f}, {0.0f}});
    CHECK(std::isnan(merged.output[0]));
    CHECK(std::isnan(merged.lse.value));
  }

  TEST_CASE("attention over parts of the keys merges into attention over all of them") {
    constexpr std::uint64_t kSeed = 17;
    test::Random random(kSeed);
    const auto numbers = [&random](std::int64_t rows) {
      Tensor tensor(DType::kFloat64, {rows, 2, 5});
      for (std::int64_t index = 0; index < tensor.size(); ++index) {
        tensor.data<double>()[index] = random.real(-2, 2);
      }
      return tensor;
    };
    const auto part = [](const Tensor& rows, std::int64_t begin, std::int64_t end) {
      const double* first = rows.data<double>();
      return Tensor::from_values<double>({end - begin, 2, 5},
                                         std::vector<double>(first + begin * 10, first + end * 10));
    };
    AttentionVariant variant;
    variant.visibility.causal = false;
    const Tensor query = numbers(3);
    const Tensor key = numbers(13);
    const Tensor value = numbers(13);
    const RequestAttention whole = contiguous_attention<double>(query, key, value, variant);

    // Parts of 0, 1, 7 and 5 keys, one after the other, as batches.
    AttentionStates merged;
    const std::int64_t ends[] = {0, 0, 1, 8, 13};
    for (int part_idx = 0; part_idx < 4; ++part_idx) {
      const RequestAttention attention =
          contiguous_attention<double>(query, part(key, ends[part_idx], ends[part_idx + 1]),
                                       part(value, ends[part_idx], ends[part_idx + 1]), variant);
      const AttentionStates states{attention.output, attention.lse};
      merged = part_idx == 0 ? states : merge_states(merged, states);
    }
    // Every output is a mean of values below 2; each merge adds a few roundings of 2^-53.
    constexpr double kAllowed = 100 * 2 * 0x1p-53;
    for (std::int64_t index = 0; index < whole.output.size(); ++index) {
      const double error = std::abs(merged.output.value(index) - whole.output.value(index));
      CHECK(!(error > kAllowed));
    }
    for (std::int64_t index = 0; index < whole.lse.size(); ++index) {
      const double error = std::abs(merged.lse.value(index) - whole.lse.value(index));
      CHECK(!(error > 10 * kAllowed));
    }
  }

  TEST_CASE("many states at once merge like one after the other") {
    // Keys of scores 0, ln 2 and ln 5, one a state: weights 1/8, 2/8 and 5/8.
    const AttentionState<double> states[] = {
        {{80.0}, {0.0}}, {{160.0}, {std::log(2.0)}}, {{16.0}, {std::log(5.0)}}};
    const AttentionState<double> merged =
        merge_states(std::span<const AttentionState<double>>(states));
    CHECK(std::abs(merged.output[0] - 60) < 60 * 0x1p-48);
    CHECK(std::abs(merged.lse.value - std::log(8.0)) < 0x1p-48);
  }

  TEST_CASE("states that do not fit each other are refused") {
    CHECK_THROWS_WITH_AS(merge_states(empty_state<float>(2), empty_state<float>(3)),
                         "an attention state has 3 elements, but the first has 2.", Error);
    CHECK_THROWS_WITH_AS(merge_states(std::span<const State>()),
                         "merge_states was given no state; it needs at least one.", Error);
    const AttentionStates prefix{Tensor(DType::kFloat32, {3, 2, 4}),
                                 Tensor(DType::kFloat32, {2, 3})};
    const AttentionStates swapped{Tensor(DType::kFloat32, {3, 2, 4}),
                                  Tensor(DType::kFloat32, {3, 2})};
    CHECK_THROWS_WITH_AS(merge_states(prefix, swapped),
                         "the suffix's output has shape [3, 2, 4] and its lse [3, 2]; [T, heads, "
                         "size] and [heads, T] are needed.",
                         Error);
    const AttentionStates wide{Tensor(DType::kFloat64, {3, 2, 4}), Tensor(DType::kFloat64, {2, 3})};
    CHECK_THROWS_WITH_AS(merge_states(prefix, wide),
                         "the prefix is float32, but the suffix float64.", Error);
    const AttentionStates short_one{Tensor(DType::kFloat32, {2, 2, 4}),
                                    Tensor(DType::kFloat32, {2, 2})};
    CHECK_THROWS_WITH_AS(merge_states(prefix, short_one),
                         "the prefix's output has shape [3, 2, 4], but the suffix's [2, 2, 4].",
                         Error);
    const AttentionStates half{Tensor(DType::kFloat16, {3, 2, 4}), Tensor(DType::kFloat16, {2, 3})};
    CHECK_THROWS_WITH_AS(merge_states(half, half),
                         "the prefix's output is float16; it must be float64 or float32.", Error);
  }
}
