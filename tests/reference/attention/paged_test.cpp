#include "reference/attention/paged.h"

#include <doctest/doctest.h>

#include <cstring>

#include "reference/attention/contiguous.h"
#include "reference/cache/cache_write.h"
#include "reference/contract/compare.h"
#include "tests/cases/attention_cases.h"
#include "tests/cases/attention_traps.h"

using namespace pagelab;

namespace {

struct Result {
  Tensor output;
  Tensor lse;
};

template <typename Real>
Result in_place(const AttentionStep& step) {
  Result result;
  paged_attention_in_place<Real>(step, result.output, result.lse);
  return result;
}

template <typename Real>
Result by_gather(const AttentionStep& step) {
  Result result;
  paged_attention_by_gather<Real>(step, result.output, result.lse);
  return result;
}

void check_same_bits(const Result& got, const Result& expected) {
  const Comparison output = compare_bits(got.output, expected.output);
  const Comparison lse = compare_bits(got.lse, expected.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
}

// The step with its own tokens already in the cache.
AttentionStep after_writing(AttentionStep step) {
  reshape_and_cache(step.key, step.value, step.metadata.slot_mapping, step.cache);
  return step;
}

// Slot of a position, by the lesson's formula.
std::int64_t slot(const AttentionStep& step, std::int64_t req_idx, std::int64_t position) {
  const std::int64_t block_size = step.cache.spec().block_size;
  const std::int64_t width = step.metadata.block_table.max_blocks_per_req;
  const std::int64_t block =
      step.metadata.block_table
          .entries[static_cast<std::size_t>(req_idx * width + position / block_size)];
  return block * block_size + position % block_size;
}

// A request's tokens copied out of the cache by hand: as stored, or dequantised to Real for fp8.
template <typename Real>
Tensor plain_tokens(const AttentionStep& step,
                    const Tensor& logical,
                    const std::vector<float>& scales,
                    std::int64_t req_idx) {
  const std::int64_t seq_len = step.metadata.seq_lens[static_cast<std::size_t>(req_idx)];
  const std::int64_t num_heads = logical.shape()[2];
  const std::int64_t size = logical.shape()[3];
  const bool fp8 = is_fp8(logical.dtype());
  Tensor tokens(fp8 ? DTypeOf<Real>::kValue : logical.dtype(), {seq_len, num_heads, size});
  const std::int64_t row = num_heads * size;
  for (std::int64_t position = 0; position < seq_len; ++position) {
    const std::int64_t from = slot(step, req_idx, position) * row;
    if (!fp8) {
      const std::int64_t bytes = bytes_of(logical.dtype());
      std::memcpy(tokens.bytes() + position * row * bytes, logical.bytes() + from * bytes,
                  static_cast<std::size_t>(row * bytes));
      continue;
    }
    for (std::int64_t i = 0; i < row; ++i) {
      const float scale = scales[static_cast<std::size_t>(scales.size() == 1 ? 0 : i / size)];
      tokens.data<Real>()[position * row + i] =
          static_cast<Real>(logical.value(from + i)) * static_cast<Real>(scale);
    }
  }
  return tokens;
}

Tensor rows_of(const Tensor& array, std::int64_t begin, std::int64_t count) {
  Tensor rows(array.dtype(), {count, array.shape()[1], array.shape()[2]});
  const std::int64_t bytes = array.shape()[1] * array.shape()[2] * bytes_of(array.dtype());
  if (count > 0) {
    std::memcpy(rows.bytes(), array.bytes() + begin * bytes,
                static_cast<std::size_t>(count * bytes));
  }
  return rows;
}

// Holds each request's rows of a paged result against contiguous attention over plain arrays.
template <typename Real>
void check_equals_contiguous(const AttentionStep& step, const Result& paged) {
  const Tensor keys = step.cache.keys();
  const Tensor values = step.cache.values();
  for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
    CAPTURE(req_idx);
    const std::int64_t first = step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
    const std::int64_t query_len = step.metadata.query_len(req_idx);
    const bool own_tokens = step.variant.attn_type == AttnType::kEncoderOnly;
    const Tensor key = own_tokens ? rows_of(step.key, first, query_len)
                                  : plain_tokens<Real>(step, keys, step.cache.k_scale, req_idx);
    const Tensor value = own_tokens ? rows_of(step.value, first, query_len)
                                    : plain_tokens<Real>(step, values, step.cache.v_scale, req_idx);
    const RequestAttention plain = contiguous_attention<Real>(rows_of(step.query, first, query_len),
                                                              key, value, step.variant, req_idx);
    CHECK(identical(rows_of(paged.output, first, query_len), plain.output));
    for (std::int64_t head_idx = 0; head_idx < step.num_query_heads(); ++head_idx) {
      for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
        const Real got = paged.lse.view<Real, 2>()(head_idx, first + query_idx);
        CHECK(bits_of(got) == bits_of(plain.lse.view<Real, 2>()(head_idx, query_idx)));
      }
    }
  }
}

// The same tokens in blocks of another size, elsewhere in the pool.
AttentionStep paged_anew(const AttentionStep& step,
                         std::int64_t block_size,
                         KvLayout layout,
                         std::uint64_t seed) {
  test::Random random(seed);
  AttentionStep anew = step;
  std::int64_t longest = 0;
  std::int64_t num_blocks = 2;  // to spare
  for (std::int32_t seq_len : step.metadata.seq_lens) {
    const std::int64_t needed = blocks_for_tokens(seq_len, block_size);
    longest = std::max(longest, needed);
    num_blocks += needed;
  }
  KvCacheSpec spec = step.cache.spec();
  spec.block_size = block_size;
  spec.num_blocks = num_blocks;
  spec.layout = layout;
  const std::vector<std::int32_t> blocks = random.permutation(num_blocks);
  anew.metadata.block_table = BlockTable::unused(step.metadata.num_reqs(), longest);
  anew.cache = KvCache(spec);
  anew.cache.k_scale = step.cache.k_scale;
  anew.cache.v_scale = step.cache.v_scale;

  Tensor keys = anew.cache.keys();
  Tensor values = anew.cache.values();
  const Tensor old_keys = step.cache.keys();
  const Tensor old_values = step.cache.values();
  const auto copy_token = [](const Tensor& from, std::int64_t from_slot, Tensor& to,
                             std::int64_t to_slot) {
    const std::int64_t bytes = from.shape()[2] * from.shape()[3] * bytes_of(from.dtype());
    std::memcpy(to.bytes() + to_slot * bytes, from.bytes() + from_slot * bytes,
                static_cast<std::size_t>(bytes));
  };
  std::size_t next_block = 0;
  for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = step.metadata.seq_lens[static_cast<std::size_t>(req_idx)];
    for (std::int64_t position = 0; position < seq_len; ++position) {
      if (position % block_size == 0) {
        const std::size_t column = static_cast<std::size_t>(position / block_size);
        anew.metadata.block_table.row(req_idx)[column] = blocks[next_block++];
      }
      const std::int64_t old_slot = slot(step, req_idx, position);
      const std::int64_t new_slot = slot(anew, req_idx, position);
      copy_token(old_keys, old_slot, keys, new_slot);
      copy_token(old_values, old_slot, values, new_slot);
    }
  }
  anew.cache.assign(keys, values);
  return anew;
}

// One request of a step, alone in its batch.
AttentionStep alone(const AttentionStep& step, std::int64_t req_idx) {
  AttentionStep single = step;
  const std::int64_t first = step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
  const std::int64_t query_len = step.metadata.query_len(req_idx);
  single.query = rows_of(step.query, first, query_len);
  single.key = rows_of(step.key, first, query_len);
  single.value = rows_of(step.value, first, query_len);
  single.metadata.query_start_loc = {0, static_cast<std::int32_t>(query_len)};
  single.metadata.seq_lens = {step.metadata.seq_lens[static_cast<std::size_t>(req_idx)]};
  const std::span<const std::int32_t> row = step.metadata.block_table.row(req_idx);
  single.metadata.block_table = BlockTable::from_rows({{row.begin(), row.end()}});
  single.metadata.slot_mapping.assign(static_cast<std::size_t>(query_len), kNoSlot);
  single.variant.mm_prefix_ranges.clear();
  for (MmPrefixRange range : step.variant.mm_prefix_ranges) {
    if (range.req_idx != req_idx) continue;
    range.req_idx = 0;
    single.variant.mm_prefix_ranges.push_back(range);
  }
  return single;
}

template <typename Real>
void check_paging_changes_no_bit(const AttentionStep& step) {
  const Result paged = in_place<Real>(step);
  check_same_bits(by_gather<Real>(step), paged);
  check_equals_contiguous<Real>(step, paged);
}

template <typename Real>
void check_blocks_change_no_bit(const AttentionStep& step, std::uint64_t seed) {
  const Result paged = in_place<Real>(step);
  for (std::int64_t block_size : {1, 3, 16, 64}) {
    CAPTURE(block_size);
    for (KvLayout layout : all_kv_layouts()) {
      const AttentionStep anew = paged_anew(step, block_size, layout, ++seed);
      check_same_bits(in_place<Real>(anew), paged);
      check_same_bits(by_gather<Real>(anew), paged);
    }
  }
}

}  // namespace

TEST_SUITE("paged attention") {
  TEST_CASE("both paged forms have the bits of contiguous attention for every kind of step") {
    for (const test::AttentionCase& attention_case : test::attention_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = after_writing(attention_case.step());
      check_paging_changes_no_bit<double>(step);
      check_paging_changes_no_bit<float>(step);
    }
  }

  TEST_CASE("neither block size nor place nor layout changes a bit") {
    for (const test::AttentionCase& attention_case : test::attention_cases()) {
      if (attention_case.options.attn_type == AttnType::kEncoderOnly) continue;  // no cache is read
      CAPTURE(attention_case.name);
      const AttentionStep step = after_writing(attention_case.step());
      check_blocks_change_no_bit<double>(step, attention_case.seed);
      check_blocks_change_no_bit<float>(step, attention_case.seed);
    }
  }

  TEST_CASE("the rest of the batch changes no bit of a request") {
    for (const test::AttentionCase& attention_case : test::attention_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = after_writing(attention_case.step());
      const Result batch = in_place<float>(step);
      for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
        const std::int64_t first = step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
        const Result single = in_place<float>(alone(step, req_idx));
        CHECK(identical(single.output,
                        rows_of(batch.output, first, step.metadata.query_len(req_idx))));
      }
    }
  }

  TEST_CASE("what may make no difference changes no bit") {
    for (const test::AttentionTwins& twins : test::attention_twins()) {
      CAPTURE(twins.name);
      const AttentionStep one = after_writing(twins.one);
      const AttentionStep other = after_writing(twins.other);
      check_same_bits(in_place<float>(one), in_place<float>(other));
      check_same_bits(in_place<double>(one), in_place<double>(other));
      check_same_bits(by_gather<float>(one), by_gather<float>(other));
    }
  }

  TEST_CASE("encoder_only reads no cache and encoder_decoder no key of the step") {
    test::RandomStepOptions options;
    options.attn_type = AttnType::kEncoderOnly;
    AttentionStep encoder = test::random_step(options, 1);
    const Result before = in_place<double>(encoder);
    encoder.cache = KvCache(encoder.cache.spec());  // NaN everywhere
    check_same_bits(in_place<double>(encoder), before);

    options.attn_type = AttnType::kEncoderDecoder;
    AttentionStep cross = test::random_step(options, 2);
    const Result over_cache = in_place<double>(cross);
    std::fill(cross.key.data<float>(), cross.key.data<float>() + cross.key.size(), 7.0f);
    check_same_bits(in_place<double>(cross), over_cache);
  }

  TEST_CASE("an inconsistent step is refused by both forms") {
    AttentionStep step = after_writing(test::random_step({}, 3));
    step.metadata.seq_lens[0] = 1000000;
    Result result;
    CHECK_THROWS_AS(paged_attention_in_place<float>(step, result.output, result.lse), Error);
    CHECK_THROWS_AS(paged_attention_by_gather<float>(step, result.output, result.lse), Error);
  }
}
