#include "reference/numerics/error_bound.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "tests/reference/numerics/plain_attention.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The unit roundoff that the bound counts with: a float's, and the double reference's own.
constexpr double kU = 0x1p-24 + 0x1p-53;

/// One decode step: one request, one head, keys and values of one element, block size 1.
AttentionStep tiny_step(float query,
                        const std::vector<float>& keys,
                        const std::vector<float>& values) {
  const std::int64_t num_keys = static_cast<std::int64_t>(keys.size());
  AttentionStep step;
  step.query = Tensor::from_values<float>({1, 1, 1}, {query});
  step.key = Tensor::from_values<float>({1, 1, 1}, {keys.back()});
  step.value = Tensor::from_values<float>({1, 1, 1}, {values.back()});
  KvCacheSpec spec;
  spec.num_blocks = num_keys;
  spec.block_size = 1;
  spec.num_kv_heads = 1;
  spec.head_size = 1;
  spec.head_size_v = 1;
  step.cache = KvCache(spec);
  step.cache.assign(Tensor::from_values<float>({num_keys, 1, 1, 1}, keys),
                    Tensor::from_values<float>({num_keys, 1, 1, 1}, values));
  std::vector<std::int32_t> blocks;
  for (std::int64_t j = 0; j < num_keys; ++j) blocks.push_back(static_cast<std::int32_t>(j));
  step.metadata.query_start_loc = {0, 1};
  step.metadata.seq_lens = {static_cast<std::int32_t>(num_keys)};
  step.metadata.block_table = BlockTable::from_rows({blocks});
  step.metadata.slot_mapping = {num_keys - 1};
  return step;
}

/// A step of every kind, dtype and layout, numbered from 0.
AttentionStep varied_step(int number) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
  RandomStepOptions options;
  options.dtype = kDTypes[number % 4];
  if (number % 5 == 1) options.kv_cache_dtype = DType::kFp8E4M3;
  if (number % 5 == 3) options.kv_cache_dtype = DType::kFp8E5M2;
  options.scales_per_head = number % 2 == 0;
  options.layout = all_kv_layouts()[static_cast<std::size_t>(number) % 6];
  options.num_empty_reqs = 1;
  options.padding_rows = number % 3;
  switch (number % 7) {
    case 1:
      options.window_left = 5;
      break;
    case 2:
      options.logit_softcap = 2.5;
      options.sinks = true;
      break;
    case 3:
      options.alibi = true;
      break;
    case 4:
      options.mm_prefix = true;
      options.query_excess = 3;
      break;
    case 5:
      options.attn_type = AttnType::kEncoderDecoder;
      options.causal = false;
      options.amplitude = 4.0;
      break;
    case 6:
      options.causal = false;
      options.scale = 3.0;
      options.sinks = true;
      break;
    default:
      break;
  }
  return with_tokens_stored(random_step(options, static_cast<std::uint64_t>(number)));
}

/// Output and LSE of one implementation against another.
BoundUse use_of_both(const PlainResult& got, const PlainResult& expected, const ErrorBound& bound) {
  BoundUse use = use_of_bound(got.output, expected.output, bound.output);
  use.join(use_of_bound(got.lse, expected.lse, bound.lse));
  return use;
}

/// How many outputs leave the bound of the canonical float order if something is wrong.
std::int64_t exceeding_with(const AttentionStep& step, Fault fault) {
  const ErrorBound bound = error_bound(step, Precision::canonical_float());
  const PlainResult expected = plain_attention<double>(step);
  const PlainResult wrong = plain_attention<float>(step, fault);
  return use_of_bound(wrong.output, expected.output, bound.output).exceeding;
}

}  // namespace

TEST_SUITE("error_bound") {
  TEST_CASE("with one key only the roundings of a quotient remain") {
    // One key: p = 1 whatever the score's error, so the weights do not matter (|v − o| = 0). The
    // product, the sum l and the division round once each: 3u · |o| = 3u · 3.
    const AttentionStep step = tiny_step(1.0f, {1.0f}, {3.0f});
    const ErrorBound bound = error_bound(step, Precision::canonical_float());
    CHECK(bound.output.value(0) == doctest::Approx(3 * kU * 3).epsilon(1e-5));
    // The LSE is the score 1, off by 1 product + scale twice = 3u; the distance s − m = 0 may come
    // out as 2 · 3u, which is second order; exp2 is good to 0.8 ulp = 1.6u, l rounds once, and so
    // does the sum m + log(l) = 1: 3u + 1.6u + 1u + 1u.
    CHECK(bound.lse.value(0) == doctest::Approx(6.6 * kU).epsilon(1e-5));
  }

  TEST_CASE("with equal scores of zero the bound is the exponential's and the sums'") {
    // q = 0: both scores are exactly 0, p = ½ each, v = 0 and 2, o = 1 = Σ p |v|.
    // Weights: Σ p · 1.6u · |v − o| = 1.6u. Sums of two terms: 2u above, 2u below. Division: u.
    const AttentionStep step = tiny_step(0.0f, {5.0f, 7.0f}, {0.0f, 2.0f});
    const ErrorBound bound = error_bound(step, Precision::canonical_float());
    CHECK(bound.output.value(0) == doctest::Approx(6.6 * kU).epsilon(1e-5));
    // LSE = ln 2 = 0.6931: 1.6u of the weights, 2u of l, 1.79 ulp = 3.58u of the logarithm
    // relatively, and u · 0.6931 for the sum.
    CHECK(bound.lse.value(0) ==
          doctest::Approx((3.6 + (3.58 + 1) * std::log(2.0)) * kU).epsilon(1e-5));
  }

  TEST_CASE("16-bit probabilities and results add their own roundings") {
    // As above; p and the result in bf16: 2^-8 · (A + |o|), and products of the small terms.
    const AttentionStep step = tiny_step(0.0f, {5.0f, 7.0f}, {0.0f, 2.0f});
    const ErrorBound bound =
        error_bound(step, Precision::tensor_core(DType::kBFloat16, DType::kBFloat16, 0));
    CHECK(bound.output.value(0) == doctest::Approx(2 * 0x1p-8 + 0x1p-16).epsilon(1e-3));
  }

  TEST_CASE("online softmax adds three roundings to each sum for each stretch of keys") {
    // Equal scores as above: 6.6u without it; the two keys are one stretch of 32, or two of one.
    const AttentionStep step = tiny_step(0.0f, {5.0f, 7.0f}, {0.0f, 2.0f});
    const ErrorBound one_stretch = error_bound(step, Precision::online_float(32));
    CHECK(one_stretch.output.value(0) == doctest::Approx((6.6 + 3 + 3) * kU).epsilon(1e-5));
    const ErrorBound two_stretches = error_bound(step, Precision::online_float(1));
    CHECK(two_stretches.output.value(0) == doctest::Approx((6.6 + 6 + 6) * kU).epsilon(1e-5));
  }

  TEST_CASE("a step of a tensor core errs by 17 cut terms and a cut sum") {
    // One key, one step for each product: 17 · 2^-25 + 2^-23 = 10.5u. Output: p in bf16, the step, l and
    // the division, times |o| = 3.
    const AttentionStep step = tiny_step(1.0f, {1.0f}, {3.0f});
    const ErrorBound bound =
        error_bound(step, Precision::tensor_core(DType::kBFloat16, DType::kFloat32, 0));
    CHECK(bound.output.value(0) ==
          doctest::Approx(3 * (0x1p-8 + (10.5 + 1 + 1) * kU)).epsilon(1e-6));
    // The LSE is the score 1: the step, scale twice, four for the base 2, then as in float.
    CHECK(bound.lse.value(0) == doctest::Approx((10.5 + 2 + 4 + 1.6 + 1 + 1) * kU).epsilon(1e-3));
  }

  TEST_CASE("a subnormal operand of a tensor core errs like the smallest normal number") {
    // In float16 a query of 2^-24 counts as 2^-14, and so does the key: 10.5u of 2^-28, not of 2^-48.
    // One rounding of l, 1.6 of the exponential and the LSE's own are next to nothing beside log(l) = 0.
    const float least = std::ldexp(1.0f, -24);
    const AttentionStep step = tiny_step(least, {least}, {1.0f});
    const Precision float16 = Precision::tensor_core(DType::kFloat16, DType::kFloat32, 0);
    const Precision bfloat16 = Precision::tensor_core(DType::kBFloat16, DType::kFloat32, 0);
    const double more =
        error_bound(step, float16).lse.value(0) - error_bound(step, bfloat16).lse.value(0);
    CHECK(more == doctest::Approx((10.5 + 2) * kU * 0x1p-28).epsilon(0.01));
  }

  TEST_CASE("a weight below 2^-126 may be missing altogether") {
    // Scores 0 and −100: e^-100 = 2^-144.3, which exact_exp2 flushes to 0. v = 0 and 2^120, so that
    // the second term counts: o = 2^120 · e^-100, all of which the float result lacks.
    const float huge = std::ldexp(1.0f, 120);
    const AttentionStep step = tiny_step(1.0f, {0.0f, -100.0f}, {0.0f, huge});
    const ErrorBound bound = error_bound(step, Precision::canonical_float());
    const double lost = std::ldexp(std::exp(-100.0), 120);
    CHECK(bound.output.value(0) >= lost);
    CHECK(bound.output.value(0) <= 1.01 * lost);
    const PlainResult expected = plain_attention<double>(step);
    const PlainResult got = plain_attention<float>(step);
    CHECK(got.output.value(0) == 0.0);
    CHECK(use_of_both(got, expected, bound).exceeding == 0);
  }

  TEST_CASE("what may overflow in float is bounded by infinity") {
    AttentionStep step = tiny_step(1e20f, {1e20f}, {1.0f});
    ErrorBound bound = error_bound(step, Precision::canonical_float());
    CHECK(bound.output.value(0) == kInfinity);
    CHECK(bound.lse.value(0) == kInfinity);
    // In double nothing overflows.
    bound = error_bound(step, Precision::canonical_double());
    CHECK(bound.output.value(0) < 1e-10);
    // 65520 and more is infinity in float16.
    step = tiny_step(0.0f, {0.0f}, {65500.0f});
    CHECK(error_bound(step, Precision::tensor_core(DType::kFloat16, DType::kFloat16, 0))
              .output.value(0) == kInfinity);
  }

  TEST_CASE("where the reference is not finite the bound is NaN") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    ErrorBound bound = error_bound(tiny_step(1.0f, {1.0f, nan}, {1.0f, 2.0f}), Precision{});
    CHECK(std::isnan(bound.output.value(0)));
    CHECK(std::isnan(bound.lse.value(0)));
    bound = error_bound(tiny_step(1.0f, {1.0f, 1.0f}, {1.0f, nan}), Precision{});
    CHECK(std::isnan(bound.output.value(0)));
    CHECK(bound.lse.value(0) < 1e-5);
    // A key of −∞ has weight 0 and disturbs nobody.
    bound = error_bound(tiny_step(1.0f, {1.0f, -INFINITY}, {1.0f, 2.0f}), Precision{});
    CHECK(bound.output.value(0) < 1e-6);
    CHECK(bound.lse.value(0) < 1e-6);
  }

  TEST_CASE("the canonical float order stays within its bound on random steps") {
    BoundUse use;
    for (int number = 0; number < 84; ++number) {
      CAPTURE(number);
      const AttentionStep step = varied_step(number);
      const ErrorBound bound = error_bound(step, Precision::canonical_float());
      const BoundUse of_step =
          use_of_both(plain_attention<float>(step), plain_attention<double>(step), bound);
      CHECK(of_step.exceeding == 0);
      use.join(of_step);
    }
    std::printf("float: %lld elements, at most %.1f %% of the bound used\n",
                static_cast<long long>(use.compared), 100 * use.worst_share);
    CHECK(use.compared > 50000);
    CHECK(use.worst_share > 0.05);
  }

  TEST_CASE("the canonical double order stays within its bound of the exact result") {
    BoundUse use;
    for (int number = 0; number < 42; ++number) {
      CAPTURE(number);
      const AttentionStep step = varied_step(number);
      const ErrorBound bound = error_bound(step, Precision::canonical_double());
      const BoundUse of_step =
          use_of_both(plain_attention<double>(step), plain_attention<long double>(step), bound);
      CHECK(of_step.exceeding == 0);
      use.join(of_step);
    }
    std::printf("double: %lld elements, at most %.1f %% of the bound used\n",
                static_cast<long long>(use.compared), 100 * use.worst_share);
    CHECK(use.worst_share > 0.01);
  }

  TEST_CASE("encoder_only attention over the step's own tokens stays within its bound") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      RandomStepOptions options;
      options.attn_type = AttnType::kEncoderOnly;
      options.causal = false;
      options.without_cache = true;
      options.kind = BatchKind::kPrefill;
      options.dtype = seed % 2 == 0 ? DType::kFloat64 : DType::kFloat16;
      const AttentionStep step = random_step(options, seed);
      const ErrorBound bound = error_bound(step, Precision::canonical_float());
      const BoundUse use =
          use_of_both(plain_attention<float>(step), plain_attention<double>(step), bound);
      CHECK(use.exceeding == 0);
      CHECK(use.worst_share > 0.0);
    }
  }

  TEST_CASE("padding rows and rows without a visible key have the bound zero") {
    RandomStepOptions options;
    options.query_excess = 3;
    options.padding_rows = 2;
    const AttentionStep step = random_step(options, 7);
    ErrorBound bound = error_bound(step, Precision::canonical_float());
    const TensorView<double, 3> output = bound.output.view<double, 3>();
    const TensorView<double, 2> lse = bound.lse.view<double, 2>();
    std::vector<bool> sees_a_key(static_cast<std::size_t>(step.num_tokens()), false);
    for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
      // Causal and bottom right: the last seq_len queries see something.
      const std::int64_t end = step.metadata.query_start_loc[req_idx + 1];
      for (std::int64_t back = 1; back <= step.metadata.seq_lens[req_idx]; ++back) {
        sees_a_key[static_cast<std::size_t>(end - back)] = true;
      }
    }
    std::int64_t zero_rows = 0;
    for (std::int64_t token_idx = 0; token_idx < step.num_tokens(); ++token_idx) {
      CAPTURE(token_idx);
      const bool has_bound = sees_a_key[static_cast<std::size_t>(token_idx)];
      CHECK((output(token_idx, 0, 0) > 0.0) == has_bound);
      CHECK((lse(0, token_idx) > 0.0) == has_bound);
      if (!has_bound) ++zero_rows;
    }
    CHECK(zero_rows >= 2 + step.metadata.num_reqs());
  }

  TEST_CASE("a dropped key and a wrong scale and rounded probabilities leave the bound") {
    for (int number = 0; number < 28; ++number) {
      CAPTURE(number);
      const AttentionStep step = varied_step(number);
      CHECK(exceeding_with(step, Fault::kDropOneKey) > 0);
      CHECK(exceeding_with(step, Fault::kScaleOff) > 0);
      CHECK(exceeding_with(step, Fault::kRoundP) > 0);
      CHECK(exceeding_with(step, Fault::kRoundOutput) > 0);
    }
  }

  TEST_CASE("rounded probabilities and results stay within the bound that allows for them") {
    for (int number = 0; number < 28; ++number) {
      CAPTURE(number);
      const AttentionStep step = varied_step(number);
      const PlainResult expected = plain_attention<double>(step);
      Precision precision;
      precision.probabilities = DType::kBFloat16;
      BoundUse use = use_of_bound(plain_attention<float>(step, Fault::kRoundP).output,
                                  expected.output, error_bound(step, precision).output);
      CHECK(use.exceeding == 0);
      precision = Precision{};
      precision.output = DType::kBFloat16;
      use = use_of_bound(plain_attention<float>(step, Fault::kRoundOutput).output, expected.output,
                         error_bound(step, precision).output);
      CHECK(use.exceeding == 0);
      CHECK(use.worst_share > 0.5);  // the result's rounding is nearly all of this bound
    }
  }

  TEST_CASE("independent roundings make the bound of long sums sharper and never larger") {
    RandomStepOptions options;
    options.requests = {{1, 1500}};
    options.block_size = 16;
    const AttentionStep step = with_tokens_stored(random_step(options, 3));
    Precision precision = Precision::canonical_float();
    const ErrorBound worst = error_bound(step, precision);
    precision.confidence = 8.0;
    const ErrorBound likely = error_bound(step, precision);
    for (std::int64_t index = 0; index < worst.output.size(); ++index) {
      CHECK(likely.output.value(index) < 0.5 * worst.output.value(index));
    }
    const BoundUse use =
        use_of_both(plain_attention<float>(step), plain_attention<double>(step), likely);
    CHECK(use.exceeding == 0);
  }

  TEST_CASE("each request has the bound of its own precision") {
    RandomStepOptions options;
    options.requests = {{2, 5}, {0, 4}, {3, 7}};
    const AttentionStep step = with_tokens_stored(random_step(options, 12));
    const Precision canonical = Precision::canonical_float();
    const Precision online = Precision::online_float(1);
    const ErrorBound of_canonical = error_bound(step, canonical);
    const ErrorBound of_online = error_bound(step, online);
    const ErrorBound mixed = error_bound(step, {online, canonical, canonical});
    const std::int64_t row_size = step.num_query_heads() * step.head_size_v();
    for (std::int64_t index = 0; index < mixed.output.size(); ++index) {
      const ErrorBound& own = index / row_size < 2 ? of_online : of_canonical;
      CHECK(mixed.output.data<double>()[index] == own.output.data<double>()[index]);
      CHECK(of_online.output.data<double>()[index] > of_canonical.output.data<double>()[index]);
    }
    for (std::int64_t index = 0; index < mixed.lse.size(); ++index) {
      const ErrorBound& own = index % step.num_tokens() < 2 ? of_online : of_canonical;
      CHECK(mixed.lse.data<double>()[index] == own.lse.data<double>()[index]);
    }
    CHECK_THROWS_WITH_AS(error_bound(step, std::vector<Precision>{online}),
                         "there are 1 precisions, but 3 requests.", Error);
  }

  TEST_CASE("a precision that cannot be is refused") {
    const AttentionStep step = tiny_step(1.0f, {1.0f}, {1.0f});
    Precision precision;
    precision.arithmetic = DType::kFloat16;
    CHECK_THROWS_WITH_AS(error_bound(step, precision),
                         "precision.arithmetic is float16, but sums run in float32 or float64.",
                         Error);
    precision = Precision{};
    precision.probabilities = DType::kInt32;
    CHECK_THROWS_AS(error_bound(step, precision), Error);
    precision = Precision{};
    precision.output = DType::kFp8E4M3;
    CHECK_THROWS_AS(error_bound(step, precision), Error);
    precision = Precision{};
    precision.extra_roundings = -1;
    CHECK_THROWS_AS(error_bound(step, precision), Error);
    precision = Precision{};
    precision.keys_per_rescaling = -1;
    CHECK_THROWS_WITH_AS(error_bound(step, precision),
                         "precision.keys_per_rescaling is -1, but it must be 0 or more.", Error);
    precision = Precision{};
    precision.tensor_core_sums = true;
    CHECK_THROWS_WITH_AS(error_bound(step, precision),
                         "precision.tensor_core_sums is for float16 or bfloat16 probabilities and "
                         "float32 arithmetic, but they are float32 and float32.",
                         Error);
    precision = Precision{};
    precision.confidence = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(error_bound(step, precision), Error);
    AttentionStep broken = step;
    broken.metadata.seq_lens = {5};
    CHECK_THROWS_AS(error_bound(broken, Precision{}), Error);
  }
}
