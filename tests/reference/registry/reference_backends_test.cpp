#include "reference/registry/reference_backends.h"

#include <doctest/doctest.h>

#include <cmath>

#include "reference/attention/paged.h"
#include "reference/cache/cache_write.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

// A random step that differs from a plain one in some options.
template <typename Change>
AttentionStep step_with(const Change& change, std::uint64_t seed) {
  test::RandomStepOptions options;
  change(options);
  return test::random_step(options, seed);
}

}  // namespace

TEST_SUITE("reference backends") {
  TEST_CASE("the two references differ in precision and in nothing else") {
    const auto in_double = make_reference_backend();
    const auto in_float = make_reference_float_backend();
    CHECK(in_double->name() == "REFERENCE");
    CHECK(in_float->name() == "REFERENCE_FLOAT");
    CHECK(in_double->target() == "cpu");
    CHECK(in_float->target() == "cpu");
    for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      const AttentionStep step = step_with([&](auto& o) { o.dtype = dtype; }, 5);
      const AttentionResult wide = attend(step, *in_double);
      const AttentionResult narrow = attend(step, *in_float);
      CHECK(wide.output.dtype() == DType::kFloat64);
      CHECK(wide.lse.dtype() == DType::kFloat64);
      CHECK(narrow.output.dtype() == DType::kFloat32);
      CHECK(narrow.lse.dtype() == DType::kFloat32);
      CHECK(narrow.output.shape() == wide.output.shape());
      CHECK(identical(narrow.cache.keys(), wide.cache.keys()));
    }
  }

  TEST_CASE("attend stores first and then attends over what it stored") {
    const AttentionStep step = step_with([&](auto& o) { o.kind = test::BatchKind::kPrefill; }, 6);
    const AttentionResult result = attend(step, *make_reference_backend());
    // Before the step nothing of a prefill is in the cache; after it, every token of each request.
    const std::int64_t slot = step.metadata.slot_mapping[0];
    const std::int64_t row = step.num_kv_heads() * step.head_size();
    CHECK(std::isnan(step.cache.keys().value(slot * row)));
    CHECK(result.cache.keys().value(slot * row) == step.key.value(0));
    CHECK(!std::isnan(result.output.value(0)));
  }

  TEST_CASE("padding rows are zero and their LSE is minus infinity") {
    const AttentionStep step = step_with([&](auto& o) { o.padding_rows = 2; }, 7);
    const AttentionResult result = attend(step, *make_reference_float_backend());
    const std::int64_t num_tokens = step.num_tokens();
    const std::int64_t row = step.num_query_heads() * step.head_size_v();
    for (std::int64_t index = (num_tokens - 2) * row; index < num_tokens * row; ++index) {
      CHECK(result.output.value(index) == 0.0);
    }
    for (std::int64_t head_idx = 0; head_idx < step.num_query_heads(); ++head_idx) {
      CHECK(result.lse.value(head_idx * num_tokens + num_tokens - 1) == -INFINITY);
    }
  }

  TEST_CASE("a layer's cache lives on from step to step") {
    // Tokens 0 and 1 in the first step, token 2 in the second: the last row is that of one prefill.
    const AttentionStep whole = step_with([&](auto& o) { o.requests = {{3, 3}}; }, 8);
    const auto backend = make_reference_float_backend();
    const AttentionResult at_once = attend(whole, *backend);

    const auto rows = [](const Tensor& array, std::int64_t begin, std::int64_t end) {
      const std::int64_t row = array.shape()[1] * array.shape()[2];
      const float* first = array.data<float>();
      return Tensor::from_values<float>({end - begin, array.shape()[1], array.shape()[2]},
                                        std::vector<float>(first + begin * row, first + end * row));
    };
    const auto impl = backend->make_impl(whole.cache);
    Tensor output;
    Tensor lse;
    for (const auto& [begin, end] : {std::pair<std::int32_t, std::int32_t>{0, 2}, {2, 3}}) {
      CommonAttentionMetadata metadata = whole.metadata;
      metadata.query_start_loc = {0, end - begin};
      metadata.seq_lens = {end};
      metadata.slot_mapping = {whole.metadata.slot_mapping.begin() + begin,
                               whole.metadata.slot_mapping.begin() + end};
      const Tensor key = rows(whole.key, begin, end);
      const Tensor value = rows(whole.value, begin, end);
      impl->do_kv_cache_update(key, value, metadata.slot_mapping);
      impl->forward(rows(whole.query, begin, end), key, value, metadata, whole.variant, output,
                    lse);
    }
    CHECK(identical(output, rows(at_once.output, 2, 3)));
    CHECK(identical(impl->kv_cache().keys(), at_once.cache.keys()));
  }

  TEST_CASE("K7: a length beyond the table's capacity is refused before anything is read") {
    // Two columns of 16 tokens hold 32.
    AttentionStep step = step_with(
        [&](auto& o) {
          o.block_size = 16;
          o.requests = {{1, 32}};
          o.spare_table_columns = 0;
        },
        9);
    REQUIRE(step.metadata.block_table.max_blocks_per_req == 2);
    step.metadata.seq_lens[0] = 33;
    step.metadata.slot_mapping[0] = kNoSlot;
    const auto backend = make_reference_backend();
    CHECK_THROWS_WITH_AS(attend(step, *backend),
                         doctest::Contains("seq_lens[0] is 33, but request 0's row of the block "
                                           "table has a capacity of 32 tokens"),
                         Error);
    const auto impl = backend->make_impl(step.cache);
    Tensor output;
    Tensor lse;
    CHECK_THROWS_AS(
        impl->forward(step.query, step.key, step.value, step.metadata, step.variant, output, lse),
        Error);
  }

  TEST_CASE("a query longer than its sequence may be attended but not stored") {
    AttentionStep step = step_with([&](auto& o) { o.requests = {{2, 2}}; }, 10);
    step.metadata.seq_lens = {1};
    const auto backend = make_reference_backend();
    CHECK_THROWS_AS(attend(step, *backend), Error);
    const auto impl = backend->make_impl(step.cache);
    impl->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
    Tensor output;
    Tensor lse;
    impl->forward(step.query, step.key, step.value, step.metadata, step.variant, output, lse);
    CHECK(output.value(0) == 0.0);
    CHECK(lse.value(0) == -INFINITY);
  }

  TEST_CASE("slots and shapes that do not fit the layer's cache are refused") {
    const AttentionStep step = test::random_step({}, 11);
    const auto impl = make_reference_float_backend()->make_impl(step.cache);
    CHECK_THROWS_AS(impl->do_kv_cache_update(step.query, step.value, step.metadata.slot_mapping),
                    Error);
    std::vector<std::int64_t> far_slots = step.metadata.slot_mapping;
    far_slots[0] = 1 << 20;
    CHECK_THROWS_AS(impl->do_kv_cache_update(step.key, step.value, far_slots), Error);
  }
}
