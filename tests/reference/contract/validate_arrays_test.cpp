// The arrays and the cache of a step: each message is provoked by one change to a valid step.
#include <doctest/doctest.h>

#include <limits>

#include "tests/cases/attention_cases.h"
#include "tests/reference/contract/refusal.h"

using namespace pagelab;
using namespace pagelab::test;

using Step = AttentionStep;

TEST_SUITE("validate arrays") {
  TEST_CASE("the plain step and every random step are valid for both uses") {
    CHECK(refusal_after([](Step&) {}) == "");
    CHECK(refusal_after([](Step&) {}, StepUse::kAttend) == "");
    for (const AttentionCase& attention_case : attention_cases(1000)) {
      CAPTURE(attention_case.name);
      const AttentionStep step = attention_case.step();
      CHECK_NOTHROW(validate(step, StepUse::kStoreAndAttend));
      CHECK_NOTHROW(validate(step, StepUse::kAttend));
    }
  }

  TEST_CASE("a step that nobody filled in is refused") {
    CHECK_THROWS_WITH_AS(
        validate(AttentionStep()),
        "query has shape [0], but its axes must be [num_tokens, num_query_heads, head_size].",
        Error);
  }

  TEST_CASE("an array with another number of axes is refused") {
    CHECK(refusal_after([](Step& step) {
            step.key = Tensor(DType::kFloat32, {8, 6});
          }) ==
          "key has shape [8, 6], but its axes must be [num_tokens, num_kv_heads, head_size].");
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFloat32, {8, 2, 5, 1});
          }) ==
          "value has shape [8, 2, 5, 1], but its axes must be [num_tokens, num_kv_heads, "
          "head_size_v].");
  }

  TEST_CASE("an array of a type that is no activation is refused") {
    CHECK(refusal_after([](Step& step) {
            step.query = Tensor(DType::kInt32, {8, 4, 3});
          }) ==
          "query is int32, but query, key and value must be float64, float32, float16 or "
          "bfloat16.");
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFp8E4M3, {8, 2, 5});
          }) ==
          "value is fp8_e4m3, but query, key and value must be float64, float32, float16 or "
          "bfloat16.");
  }

  TEST_CASE("arrays of different types are refused") {
    CHECK(refusal_after([](Step& step) {
            step.key = Tensor(DType::kFloat16, {8, 2, 3});
          }) ==
          "key is float16, but query is float32, and all three arrays must have the same dtype.");
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFloat64, {8, 2, 5});
          }) ==
          "value is float64, but query is float32, and all three arrays must have the same dtype.");
  }

  TEST_CASE("an array without heads or without elements is refused") {
    CHECK(refusal_after([](Step& step) {
            step.query = Tensor(DType::kFloat32, {8, 0, 3});
          }) ==
          "query has shape [8, 0, 3], but it must have at least one head and one element a head.");
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFloat32, {8, 2, 0});
          }) ==
          "value has shape [8, 2, 0], but it must have at least one head and one element a head.");
  }

  TEST_CASE(
      "an array with more than the largest int32 of heads is refused though it has no bytes") {
    CHECK(refusal_after([](Step& step) {
            step.query = Tensor(DType::kFloat32, {0, std::int64_t{1} << 31, 3});
          }) == "query has shape [0, 2147483648, 3], but no length may exceed 2147483647.");
  }

  TEST_CASE("arrays of different numbers of tokens are refused") {
    CHECK(refusal_after([](Step& step) {
            step.key = Tensor(DType::kFloat32, {7, 2, 3});
          }) == "key has 7 tokens, but query has 8.");
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFloat32, {9, 2, 5});
          }) == "value has 9 tokens, but query has 8.");
  }

  TEST_CASE("heads and head sizes that do not fit each other are refused") {
    CHECK(refusal_after([](Step& step) {
            step.value = Tensor(DType::kFloat32, {8, 4, 5});
          }) == "value has 4 heads, but key has 2.");
    CHECK(refusal_after([](Step& step) {
            step.key = Tensor(DType::kFloat32, {8, 2, 4});
          }) == "key's head_size is 4, but query's is 3.");
    CHECK(refusal_after([](Step& step) {
            step.query = Tensor(DType::kFloat32, {8, 5, 3});
          }) == "query has 5 heads, which is not a multiple of the 2 KV heads.");
    CHECK(refusal_after([](Step& step) {
            step.query = Tensor(DType::kFloat32, {8, 1, 3});
          }) == "query has 1 heads, which is not a multiple of the 2 KV heads.");
  }
}

namespace {

// The plain step over another cache.
std::string refusal_of_cache(std::int64_t num_kv_heads,
                             std::int64_t head_size,
                             std::int64_t head_size_v) {
  return refusal_after([&](Step& step) {
    KvCacheSpec spec = step.cache.spec();
    spec.num_kv_heads = num_kv_heads;
    spec.head_size = head_size;
    spec.head_size_v = head_size_v;
    step.cache = KvCache(spec);
  });
}

// The plain step over an fp8 cache with these factors of its keys.
std::string refusal_of_k_scale(const std::vector<float>& k_scale) {
  return refusal_after([&](Step& step) {
    KvCacheSpec spec = step.cache.spec();
    spec.dtype = DType::kFp8E4M3;
    step.cache = KvCache(spec);
    step.cache.k_scale = k_scale;
  });
}

}  // namespace

TEST_SUITE("validate cache") {
  TEST_CASE("a cache that does not fit key and value is refused") {
    CHECK(refusal_of_cache(2, 3, 5) == "");
    CHECK(refusal_of_cache(3, 3, 5) == "the cache has 3 KV heads, but key has 2.");
    CHECK(refusal_of_cache(2, 4, 5) == "the key cache's head_size is 4, but key's is 3.");
    CHECK(refusal_of_cache(2, 3, 3) == "the value cache's head_size_v is 3, but value's is 5.");
    CHECK(refusal_after([](Step& step) { step.cache = KvCache(); }) ==
          "the cache has 0 KV heads, but key has 2.");
  }

  TEST_CASE("an fp8 cache takes one scale or one a KV head") {
    CHECK(refusal_of_k_scale({0.25f}) == "");
    CHECK(refusal_of_k_scale({0.25f, 3.0f}) == "");
    CHECK(refusal_of_k_scale({}) ==
          "k_scale has 0 entries, but it must have 1, or 1 for each of the 2 KV heads.");
    CHECK(refusal_of_k_scale({1.0f, 1.0f, 1.0f}) ==
          "k_scale has 3 entries, but it must have 1, or 1 for each of the 2 KV heads.");
  }

  TEST_CASE("a scale that is not positive and finite is refused") {
    CHECK(refusal_of_k_scale({0.0f}) ==
          "k_scale[0] is 0, but a scale must be positive and finite.");
    CHECK(refusal_of_k_scale({1.0f, -0.5f}) ==
          "k_scale[1] is -0.5, but a scale must be positive and finite.");
    CHECK(refusal_of_k_scale({std::numeric_limits<float>::quiet_NaN()}) ==
          "k_scale[0] is nan, but a scale must be positive and finite.");
    CHECK(refusal_of_k_scale({std::numeric_limits<float>::infinity()}) ==
          "k_scale[0] is inf, but a scale must be positive and finite.");
  }

  TEST_CASE("a cache that is not fp8 has no scale but 1") {
    CHECK(refusal_after([](Step& step) { step.cache.v_scale = {1.0f, 1.0f}; }) == "");
    CHECK(refusal_after([](Step& step) {
            step.cache.v_scale = {1.0f, 2.0f};
          }) ==
          "v_scale[1] is 2, but the cache is float32, and only fp8 caches have a scale other than "
          "1.");
  }
}
