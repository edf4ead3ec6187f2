#include "reference/attention/contiguous.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "reference/numerics/exact_math.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor column(const std::vector<double>& numbers) {
  return Tensor::from_values<double>({static_cast<std::int64_t>(numbers.size()), 1, 1}, numbers);
}

// One query and seven keys under every option, with the order of operations of the canonical chain
// written out: what a kernel must repeat.
void check_canonical_order(test::Random& random) {
  constexpr int kKeys = 7;
  constexpr int kSize = 5;
  const auto draw = [&random] { return static_cast<float>(random.real(-2.0, 2.0)); };
  std::vector<float> q, k, v;
  for (int i = 0; i < kSize; ++i) q.push_back(draw());
  for (int i = 0; i < kKeys * kSize; ++i) k.push_back(draw());
  for (int i = 0; i < kKeys; ++i) v.push_back(draw());
  AttentionVariant variant;
  variant.scale = random.real(0.1, 2.0);
  variant.logit_softcap = random.real(0.5, 5.0);
  variant.alibi_slopes = {static_cast<float>(random.real(0.01, 1.0))};
  variant.sinks = {draw()};
  const float scale = static_cast<float>(variant.scale);
  const float cap = static_cast<float>(*variant.logit_softcap);

  float s[kKeys];
  float m = -std::numeric_limits<float>::infinity();
  for (int j = 0; j < kKeys; ++j) {
    s[j] = 0.0f;
    for (int i = 0; i < kSize; ++i) s[j] = std::fma(q[i], k[j * kSize + i], s[j]);
    s[j] = s[j] * scale;
    s[j] = cap * exact_tanh(s[j] / cap);
    const float bias = -variant.alibi_slopes[0] * static_cast<float>(kKeys - 1 - j);
    s[j] = s[j] + bias;
    m = s[j] > m ? s[j] : m;
  }
  m = variant.sinks[0] > m ? variant.sinks[0] : m;
  float l = 0.0f;
  float acc = 0.0f;
  for (int j = 0; j < kKeys; ++j) {
    const float p = exact_exp2((s[j] - m) * kLog2E);
    l = l + p;
    acc = std::fma(p, v[j], acc);
  }
  l = l + exact_exp2((variant.sinks[0] - m) * kLog2E);

  std::vector<float> values;  // a value's elements are all alike
  for (float number : v) values.insert(values.end(), kSize, number);
  const RequestAttention result =
      contiguous_attention<float>(Tensor::from_values<float>({1, 1, kSize}, q),
                                  Tensor::from_values<float>({kKeys, 1, kSize}, k),
                                  Tensor::from_values<float>({kKeys, 1, kSize}, values), variant);
  CHECK(bits_of(result.output.data<float>()[kSize - 1]) == bits_of(acc / l));
  CHECK(bits_of(result.lse.data<float>()[0]) == bits_of(m + exact_log(l)));
}

}  // namespace

TEST_SUITE("contiguous attention") {
  TEST_CASE("the output is the mean of the visible values where all scores are equal") {
    const RequestAttention result = contiguous_attention<double>(
        column({0, 0}), column({5, 6, 7, 8, 9}), column({0, 1, 2, 3, 4}), {});
    CHECK(result.output.value(0) == 1.5);
    CHECK(result.output.value(1) == 2.0);
    CHECK(result.lse.value(0) == doctest::Approx(std::log(4.0)).epsilon(1e-15));
  }

  TEST_CASE("the weights are those of the exponential") {
    // Scores ln 1, ln 2 and ln 5: weights 1/8, 2/8 and 5/8. 80/8 + 2·160/8 + 5·16/8 = 60.
    const RequestAttention result = contiguous_attention<double>(
        column({1}), column({0, std::log(2.0), std::log(5.0)}), column({80, 160, 16}), {});
    CHECK(std::abs(result.output.value(0) - 60) < 60 * 0x1p-48);
    CHECK(std::abs(result.lse.value(0) - std::log(8.0)) < 0x1p-48);
  }

  TEST_CASE("float follows the canonical order to the bit") {
    constexpr std::uint64_t kSeed = 23;
    test::Random random(kSeed);
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      check_canonical_order(random);
    }
  }

  TEST_CASE("a hidden key may hold NaN and a visible one makes the row NaN") {
    const double nan = std::nan("");
    const RequestAttention result = contiguous_attention<float>(
        column({1, 1, 1}), column({0, 0, nan}), column({1, 2, nan}), {});
    CHECK(result.output.value(0) == 1.0);
    CHECK(result.output.value(1) == 1.5);
    CHECK(bits_of(result.output.data<float>()[2]) == 0x7fffffffu);
    CHECK(bits_of(result.lse.data<float>()[2]) == 0x7fffffffu);
  }

  TEST_CASE("no key at all gives zeros and minus infinity") {
    const RequestAttention result =
        contiguous_attention<double>(column({1, 2}), column({}), column({}), {});
    CHECK(result.output.value(1) == 0.0);
    CHECK(result.lse.value(1) == -kInfinity);
  }

  TEST_CASE("float64 keys are rounded to float once before they are used") {
    const double wide = 1.0 + 0x1p-40;
    AttentionVariant variant;
    variant.visibility.causal = false;
    const RequestAttention rounded =
        contiguous_attention<float>(column({1}), column({wide, 0}), column({wide, 2}), variant);
    const RequestAttention exact =
        contiguous_attention<float>(column({1}), column({1, 0}), column({1, 2}), variant);
    CHECK(identical(rounded.output, exact.output));
  }

  TEST_CASE("arrays that do not fit each other are refused") {
    const Tensor query(DType::kFloat32, {1, 4, 8});
    const Tensor key(DType::kFloat32, {3, 2, 8});
    const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v,
                           const AttentionVariant& variant = {}) {
      return contiguous_attention<float>(q, k, v, variant);
    };
    CHECK_THROWS_WITH_AS(attend(Tensor(DType::kFloat32, {4, 8}), key, key),
                         "query has shape [4, 8]; it must have three axes, [tokens, heads, "
                         "elements].",
                         Error);
    CHECK_THROWS_WITH_AS(attend(query, Tensor(DType::kFloat32, {3, 2, 7}), key),
                         "query's head_size is 8, but key's is 7.", Error);
    CHECK_THROWS_WITH_AS(
        attend(query, key, Tensor(DType::kFloat32, {2, 2, 8})),
        "key has shape [3, 2, 8], but value [2, 2, 8]: their tokens and heads must "
        "agree.",
        Error);
    CHECK_THROWS_WITH_AS(attend(query, key, Tensor(DType::kFloat64, {3, 2, 8})),
                         "key is float32, but value is float64.", Error);
    CHECK_THROWS_WITH_AS(
        attend(query, Tensor(DType::kFloat32, {3, 3, 8}), Tensor(DType::kFloat32, {3, 3, 8})),
        "query has 4 heads, which is not a multiple of the 3 KV heads.", Error);
    CHECK_THROWS_WITH_AS(attend(Tensor(DType::kInt32, {1, 4, 8}), key, key),
                         "query is int32; it must be float64, float32, float16 or bfloat16.",
                         Error);
    AttentionVariant variant;
    variant.sinks = {1.0f};
    CHECK_THROWS_WITH_AS(attend(query, key, key, variant),
                         "sinks has 1 entries, but there are 4 query heads.", Error);
  }
}
