// The options of the attention: each message is provoked by one change to a valid step.
#include <doctest/doctest.h>

#include <limits>

#include "tests/reference/contract/refusal.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNaN32 = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf32 = std::numeric_limits<float>::infinity();

using Variant = AttentionVariant;

// What validate says after a change to the variant alone.
template <typename Change>
std::string refusal_after_variant(const Change& change) {
  return refusal_after([&](AttentionStep& step) { change(step.variant); });
}

std::string refusal_of_scale(double scale) {
  return refusal_after_variant([&](Variant& variant) { variant.scale = scale; });
}

std::string refusal_of_softcap(double cap) {
  return refusal_after_variant([&](Variant& variant) { variant.logit_softcap = cap; });
}

std::string refusal_of_window(std::int32_t left, std::int32_t right) {
  return refusal_after_variant([&](Variant& variant) {
    variant.visibility.window_left = left;
    variant.visibility.window_right = right;
  });
}

std::string refusal_of_ranges(const std::vector<MmPrefixRange>& ranges) {
  return refusal_after_variant([&](Variant& variant) { variant.mm_prefix_ranges = ranges; });
}

void make_cross_attention(Variant& variant) {
  variant.attn_type = AttnType::kEncoderDecoder;
  variant.visibility.causal = false;
}

}  // namespace

TEST_SUITE("validate numbers") {
  TEST_CASE("a scale that is not positive and finite is refused") {
    CHECK(refusal_of_scale(0.125) == "");
    CHECK(refusal_of_scale(kNaN) == "scale is nan, but it must be a positive, finite number.");
    CHECK(refusal_of_scale(kInf) == "scale is inf, but it must be a positive, finite number.");
    CHECK(refusal_of_scale(-0.125) == "scale is -0.125, but it must be a positive, finite number.");
    CHECK(refusal_of_scale(0.0) == "scale is 0, but it must be a positive, finite number.");
  }

  TEST_CASE("a scale that float32 would turn into 0 or infinity is refused") {
    CHECK(refusal_of_scale(1e-40) ==
          "scale is 1e-40, but it must lie within float32's range, 1.18e-38 to 3.4e+38.");
    CHECK(refusal_of_scale(1e39) ==
          "scale is 1e+39, but it must lie within float32's range, 1.18e-38 to 3.4e+38.");
  }

  TEST_CASE("a soft cap that is not positive and finite is refused") {
    CHECK(refusal_of_softcap(30.0) == "");
    CHECK(refusal_of_softcap(0.0) ==
          "logit_softcap is 0, but it must be a positive, finite number.");
    CHECK(refusal_of_softcap(-5.0) ==
          "logit_softcap is -5, but it must be a positive, finite number.");
    CHECK(refusal_of_softcap(kNaN) ==
          "logit_softcap is nan, but it must be a positive, finite number.");
    CHECK(refusal_of_softcap(1e300) ==
          "logit_softcap is 1e+300, but it must lie within float32's range, 1.18e-38 to 3.4e+38.");
  }

  TEST_CASE("a window side is a number of keys or -1") {
    CHECK(refusal_of_window(0, 0) == "");
    CHECK(refusal_of_window(std::numeric_limits<std::int32_t>::max(), -1) == "");
    CHECK(refusal_of_window(-2, 0) ==
          "sliding_window's left side is -2, but it is a number of keys, or -1 for no limit.");
    CHECK(refusal_of_window(3, std::numeric_limits<std::int32_t>::min()) ==
          "sliding_window's right side is -2147483648, but it is a number of keys, or -1 for no "
          "limit.");
  }

  TEST_CASE("there is one finite slope a query head") {
    const auto refusal_of = [](const std::vector<float>& slopes) {
      return refusal_after_variant([&](Variant& variant) { variant.alibi_slopes = slopes; });
    };
    CHECK(refusal_of({0.5f, 0.25f, 0.0f, -1.0f}) == "");
    CHECK(refusal_of({0.5f, 0.25f}) == "alibi_slopes has 2 entries, but there are 4 query heads.");
    CHECK(refusal_of({1, 1, kNaN32, 1}) == "alibi_slopes[2] is nan, but a slope must be finite.");
    CHECK(refusal_of({1, 1, 1, -kInf32}) == "alibi_slopes[3] is -inf, but a slope must be finite.");
  }

  TEST_CASE("there is one sink a query head and it may be minus infinity alone of the specials") {
    const auto refusal_of = [](const std::vector<float>& sinks) {
      return refusal_after_variant([&](Variant& variant) { variant.sinks = sinks; });
    };
    CHECK(refusal_of({0.5f, -kInf32, 3e38f, -2.0f}) == "");
    CHECK(refusal_of({1, 1, 1, 1, 1}) == "sinks has 5 entries, but there are 4 query heads.");
    CHECK(refusal_of({1, kNaN32, 1, 1}) ==
          "sinks[1] is nan, but a sink must be finite, or -inf for none.");
    CHECK(refusal_of({1, 1, 1, kInf32}) ==
          "sinks[3] is inf, but a sink must be finite, or -inf for none.");
  }
}

TEST_SUITE("validate prefix ranges") {
  TEST_CASE("ranges may touch no position twice within a request") {
    CHECK(refusal_of_ranges({{2, 0, 3}, {2, 4, 8}, {0, 0, 5}}) == "");
    CHECK(refusal_of_ranges({{2, 4, 8}, {0, 0, 5}, {2, 0, 4}}) ==
          "mm_prefix_ranges[2] (positions 0 to 4) and mm_prefix_ranges[0] (positions 4 to 8) of "
          "request 2 overlap.");
    CHECK(refusal_of_ranges({{2, 1, 8}, {2, 3, 4}}) ==
          "mm_prefix_ranges[0] (positions 1 to 8) and mm_prefix_ranges[1] (positions 3 to 4) of "
          "request 2 overlap.");
  }

  TEST_CASE("a range may reach beyond its sequence or be one position long") {
    CHECK(refusal_of_ranges({{0, 2, 2000000000}, {1, 1, 1}}) == "");
  }

  TEST_CASE("a range of a request that is not there is refused") {
    CHECK(refusal_of_ranges({{3, 0, 2}}) ==
          "mm_prefix_ranges[0] names request 3, but there are 3 requests.");
    CHECK(refusal_of_ranges({{-1, 0, 2}}) ==
          "mm_prefix_ranges[0] names request -1, but there are 3 requests.");
  }

  TEST_CASE("a range that ends before it starts or starts before 0 is refused") {
    CHECK(refusal_of_ranges({{0, 4, 3}}) ==
          "mm_prefix_ranges[0] ends at position 3, before its first position 4.");
    CHECK(refusal_of_ranges({{0, -2, 3}}) ==
          "mm_prefix_ranges[0] starts at position -2, but positions start at 0.");
  }

  TEST_CASE("rows of -1 or 0 are padding whatever request they name") {
    CHECK(refusal_of_ranges({{-1, -1, -1}, {0, 0, 0}, {99, -1, -1}, {0, 0, 5}}) == "");
  }
}

TEST_SUITE("validate attention type") {
  TEST_CASE("the encoder types are never causal") {
    CHECK(refusal_after([](AttentionStep& step) {
            step.variant.attn_type = AttnType::kEncoderOnly;
            step.metadata.seq_lens = {2, 0, 5};
          }) == "attn_type is encoder_only, which is never causal, but causal is true.");
    CHECK(refusal_after_variant([](Variant& variant) {
            variant.attn_type = AttnType::kEncoderDecoder;
          }) == "attn_type is encoder_decoder, which is never causal, but causal is true.");
  }

  TEST_CASE("an encoder_only step may have a window") {
    CHECK(refusal_after([](AttentionStep& step) {
            step.variant.attn_type = AttnType::kEncoderOnly;
            step.variant.visibility = {false, 1, 1};
            step.metadata.seq_lens = {2, 0, 5};
          }) == "");
  }

  TEST_CASE("cross attention takes nothing that needs common positions") {
    CHECK(refusal_after_variant(make_cross_attention) == "");
    CHECK(refusal_after_variant([](Variant& variant) {
            make_cross_attention(variant);
            variant.visibility.window_left = 3;
          }) ==
          "attn_type is encoder_decoder, whose queries and keys share no positions, but "
          "sliding_window is [3, -1].");
    CHECK(refusal_after_variant([](Variant& variant) {
            make_cross_attention(variant);
            variant.alibi_slopes = {1, 1, 1, 1};
          }) ==
          "attn_type is encoder_decoder, whose queries and keys share no positions, but "
          "alibi_slopes are given.");
    CHECK(refusal_after_variant([](Variant& variant) {
            make_cross_attention(variant);
            variant.mm_prefix_ranges = {{0, 0, 1}};
          }) ==
          "attn_type is encoder_decoder, whose queries and keys share no positions, but "
          "mm_prefix_ranges are given.");
  }

  TEST_CASE("a number that is no attention type is refused") {
    CHECK(refusal_after_variant([](Variant& variant) {
            variant.attn_type = static_cast<AttnType>(7);
          }) == "attn_type is 7, but it must be decoder, encoder_only or encoder_decoder.");
  }
}
