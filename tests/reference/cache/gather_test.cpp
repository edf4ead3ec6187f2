#include "reference/cache/gather.h"

#include <doctest/doctest.h>

#include <cmath>

#include "reference/attention/contiguous.h"
#include "reference/attention/paged.h"
#include "reference/cache/cache_write.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

Tensor random_rows(DType dtype, const Shape& shape, test::Random& random) {
  Tensor rows(DType::kFloat64, shape);
  for (std::int64_t index = 0; index < rows.size(); ++index) {
    rows.data<double>()[index] = random.real(-2.0, 2.0);
  }
  return convert(rows, dtype);
}

}  // namespace

TEST_SUITE("gather") {
  TEST_CASE("Y5: plain tensors fill a paged cache and a paged kernel gives their attention") {
    constexpr std::uint64_t kSeed = 3586;
    test::Random random(kSeed);
    const Tensor query = random_rows(DType::kFloat32, {1, 32, 128}, random);
    const Tensor key = random_rows(DType::kFloat32, {37, 8, 128}, random);
    const Tensor value = random_rows(DType::kFloat32, {37, 8, 128}, random);

    AttentionStep step;
    step.cache = KvCache({.num_blocks = 9,
                          .block_size = 32,
                          .num_kv_heads = 8,
                          .head_size = 128,
                          .head_size_v = 128});
    step.metadata.block_table = BlockTable::from_rows({{7, 2}});
    fill_paged_cache(key, value, step.metadata.block_table.row(0), step.cache);
    step.query = query;
    step.key = step.value = Tensor(DType::kFloat32, {1, 8, 128});
    step.metadata.query_start_loc = {0, 1};
    step.metadata.seq_lens = {37};
    step.metadata.slot_mapping = {kNoSlot};
    step.variant.scale = 1.0 / std::sqrt(128.0);

    Tensor output;
    Tensor lse;
    paged_attention_in_place<float>(step, output, lse);
    const RequestAttention plain = contiguous_attention<float>(query, key, value, step.variant);
    CHECK(identical(output, plain.output));
    CHECK(identical(lse, plain.lse));
  }

  TEST_CASE("what was filled is gathered back bit for bit in every layout and block size") {
    constexpr std::uint64_t kSeed = 11;
    test::Random random(kSeed);
    for (std::int64_t block_size : {1, 3, 4, 16}) {
      for (std::int64_t num_tokens : {std::int64_t{0}, std::int64_t{1}, block_size - 1, block_size,
                                      block_size + 1, std::int64_t{13}}) {
        for (KvLayout layout : all_kv_layouts()) {
          CAPTURE(block_size);
          CAPTURE(num_tokens);
          CAPTURE(to_string(layout));
          KvCache cache({.num_blocks = 17,
                         .block_size = block_size,
                         .num_kv_heads = 3,
                         .head_size = 5,
                         .head_size_v = 2,
                         .dtype = DType::kBFloat16,
                         .layout = layout});
          const Tensor key = random_rows(DType::kBFloat16, {num_tokens, 3, 5}, random);
          const Tensor value = random_rows(DType::kBFloat16, {num_tokens, 3, 2}, random);
          const std::vector<std::int32_t> row = random.permutation(17);
          fill_paged_cache(key, value, row, cache);
          CHECK(identical(gather_keys(cache, row, num_tokens, DType::kBFloat16), key));
          CHECK(identical(gather_values(cache, row, num_tokens, DType::kBFloat16), value));
          CHECK(identical(gather_keys(cache, row, num_tokens, DType::kFloat64),
                          convert(key, DType::kFloat64)));
        }
      }
    }
  }

  TEST_CASE("gathering from fp8 multiplies by the scale of the head and rounds once") {
    KvCache cache({.num_blocks = 2,
                   .block_size = 2,
                   .num_kv_heads = 2,
                   .head_size = 1,
                   .head_size_v = 1,
                   .dtype = DType::kFp8E4M3});
    cache.k_scale = {0.1f, 3.0f};
    cache.v_scale = {0.7f};
    // Keys 15 · 0.1f and 15 · 3: codes of 15 = 1.875 · 2^3. Values 2 · 0.7f.
    Tensor key = Tensor::from_values<double>({1, 2, 1}, {15 * double(0.1f), 45});
    Tensor value = Tensor::from_values<double>({1, 2, 1}, {2 * double(0.7f), 2 * double(0.7f)});
    const std::vector<std::int32_t> row = {1};
    fill_paged_cache(key, value, row, cache);
    const Tensor keys = gather_keys(cache, row, 1, DType::kFloat32);
    CHECK(keys.data<float>()[0] == 15.0f * 0.1f);
    CHECK(keys.data<float>()[1] == 45.0f);
    CHECK(gather_values(cache, row, 1, DType::kFloat64).data<double>()[1] == 2.0 * double(0.7f));
  }

  TEST_CASE("a block that is not there is refused") {
    KvCache cache(
        {.num_blocks = 2, .block_size = 4, .num_kv_heads = 1, .head_size = 1, .head_size_v = 1});
    const std::vector<std::int32_t> row = {1, 2};
    CHECK_THROWS_WITH_AS(gather_keys(cache, row, 9, DType::kFloat32),
                         "9 tokens need 3 blocks of 4, but the row has 2.", Error);
    CHECK_THROWS_WITH_AS(gather_values(cache, row, 5, DType::kFloat32),
                         "logical block 1 of the row is 2, but the cache has 2 blocks.", Error);
    CHECK_THROWS_WITH_AS(gather_keys(cache, row, -1, DType::kFloat32),
                         "num_tokens is -1; it must be at least 0.", Error);
    CHECK_THROWS_WITH_AS(gather_keys(cache, row, 4, DType::kInt32),
                         "a cache cannot be gathered as int32; take float64, float32, float16 or "
                         "bfloat16.",
                         Error);
    const Tensor rows(DType::kFloat32, {9, 1, 1});
    CHECK_THROWS_AS(fill_paged_cache(rows, rows, row, cache), Error);
  }
}
