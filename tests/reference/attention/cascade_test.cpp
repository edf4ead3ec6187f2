#include "reference/attention/cascade.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "reference/attention/contiguous.h"
#include "reference/attention/merge_states.h"
#include "reference/attention/paged.h"
#include "reference/cache/cache_write.h"
#include "reference/cache/gather.h"
#include "reference/contract/compare.h"
#include "reference/contract/error.h"
#include "reference/numerics/cascade_bound.h"
#include "tests/cases/cascade_cases.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// The step with its own tokens already in the cache.
AttentionStep with_tokens_stored(AttentionStep step) {
  reshape_and_cache(step.key, step.value, step.metadata.slot_mapping, step.cache);
  return step;
}

template <typename Real>
AttentionStates cascade(const AttentionStep& step, std::int64_t num_blocks) {
  AttentionStates result;
  cascade_attention<Real>(step, num_blocks, result.output, result.lse);
  return result;
}

AttentionStates flat(const AttentionStep& step) {
  AttentionStates result;
  paged_attention_in_place<double>(step, result.output, result.lse);
  return result;
}

ErrorBound bound_of(const AttentionStep& step, std::int64_t num_blocks, const Precision& both) {
  const std::vector<Precision> of_requests(step.metadata.seq_lens.size(), both);
  return cascade_error_bound(step, num_blocks, {of_requests, of_requests});
}

// The share of the bound that is used.
double check_within(const AttentionStates& got,
                    const AttentionStates& expected,
                    const ErrorBound& bound) {
  const Comparison output = compare_within(got.output, expected.output, bound.output);
  const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  return std::max(output.worst_share_of_bound, lse.worst_share_of_bound);
}

void check_same_bits(const AttentionStates& got, const AttentionStates& expected) {
  const Comparison output = compare_bits(got.output, expected.output);
  const Comparison lse = compare_bits(got.lse, expected.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
}

// Decodes in float32 behind a prefix of three blocks of four tokens.
AttentionStep small_step() {
  RandomStepOptions options;
  options.requests = {{1, 13}, {1, 30}, {3, 17}};
  options.shared_prefix_blocks = 3;
  return with_tokens_stored(random_step(options, 3));
}

// Two requests that decode: a prefix of three tokens with value 0, one token each with value 4, scores of 0.
AttentionStep four_keys_each() {
  RandomStepOptions options;
  options.dtype = DType::kFloat64;
  options.num_query_heads = options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 1;
  options.block_size = 3;
  options.requests = {{1, 4}, {1, 4}};
  options.shared_prefix_blocks = 1;
  AttentionStep step = random_step(options, 1);
  std::fill_n(step.query.data<double>(), 2, 0.0);
  std::fill_n(step.value.data<double>(), 2, 4.0);
  Tensor values = step.cache.values();
  std::fill_n(values.data<double>() + 3 * step.metadata.block_table.entries[0], 3, 0.0);
  step.cache.assign(step.cache.keys(), values);
  return with_tokens_stored(step);
}

std::string refusal_of(const AttentionStep& step, std::int64_t num_blocks) {
  try {
    cascade<float>(step, num_blocks);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_SUITE("cascade attention") {
  TEST_CASE("C2: three keys of value 0 in the prefix and one of value 4 behind it average 1") {
    const AttentionStates result = cascade<double>(four_keys_each(), 1);
    for (std::int64_t row = 0; row < 2; ++row) {
      CHECK(std::abs(result.output.value(row) - 1.0) < 1e-15);  // (3 · 0 + 1 · 4) / 4
      CHECK(std::abs(result.lse.value(row) - std::log(4.0)) < 1e-15);
    }
  }

  TEST_CASE("C2: a prefix merged in base 2 is outside the bound") {
    // Weights 2^ln 3 and 2^0 instead of 3 and 1: 4 / (1 + 2^ln 3) = 4 / 3.1416 = 1.27 (or, the other way round,
    // 4 / (1 + e^log2 3) = 0.6804, which the trap names).
    const AttentionStep step = four_keys_each();
    AttentionStates wrong = cascade<double>(step, 1);
    const double mixed = 4.0 / (1.0 + std::exp(std::log2(3.0)));
    CHECK(std::abs(mixed - 0.6804) < 1e-4);
    std::fill_n(wrong.output.data<double>(), 2, mixed);
    const ErrorBound bound = bound_of(step, 1, Precision::canonical_float());
    CHECK_FALSE(compare_within(wrong.output, flat(step).output, bound.output).agrees());
  }

  TEST_CASE("a cascade is within the derived bound of attention over all keys at once") {
    double worst_in_float = 0.0;
    double worst_in_double = 0.0;
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
      for (const CascadeCase& row : cascade_cases(dtype)) {
        CAPTURE(row.name);
        const AttentionStep step = with_tokens_stored(row.step());
        const std::int64_t num_blocks = row.num_common_prefix_blocks;
        const AttentionStates expected = flat(step);
        worst_in_float = std::max(
            worst_in_float, check_within(cascade<float>(step, num_blocks), expected,
                                         bound_of(step, num_blocks, Precision::canonical_float())));
        worst_in_double =
            std::max(worst_in_double,
                     check_within(cascade<double>(step, num_blocks), expected,
                                  bound_of(step, num_blocks, Precision::canonical_double())));
      }
    }
    std::printf("cascade: up to %.1f %% of the bound in use in float, %.1f %% in double\n",
                100.0 * worst_in_float, 100.0 * worst_in_double);
    CHECK(worst_in_float > 0.01);
  }

  TEST_CASE("a key lost at the end of the prefix is outside the bound") {
    for (const CascadeCase& row : cascade_cases(DType::kFloat32)) {
      const AttentionStep step = with_tokens_stored(row.step());
      if (step.metadata.num_actual_tokens() == 0) continue;
      CAPTURE(row.name);
      const std::int64_t block_size = step.cache.spec().block_size;
      CascadeParts parts =
          split_cascade(step.metadata, step.variant, block_size, row.num_common_prefix_blocks);
      parts.prefix.seq_lens[0] -= 1;
      AttentionStep part = step;
      const auto attended = [&part](const auto& metadata, const auto& variant) {
        part.metadata = metadata;
        part.variant = variant;
        return flat(part);
      };
      const AttentionStates wrong = merge_states(attended(parts.prefix, parts.prefix_variant),
                                                 attended(parts.suffix, parts.suffix_variant));
      const ErrorBound bound =
          bound_of(step, row.num_common_prefix_blocks, Precision::canonical_float());
      CHECK_FALSE(compare_within(wrong.lse, flat(step).lse, bound.lse).agrees());
    }
  }

  TEST_CASE("each part has the bits of contiguous attention over its keys") {
    const AttentionStep step = small_step();
    const AttentionStates got = cascade<float>(step, 3);
    const std::int64_t num_heads = step.num_query_heads();
    AttentionVariant whole_prefix = step.variant;
    whole_prefix.visibility.causal = false;
    const auto rows = [](const Tensor& all, std::int64_t first, std::int64_t end) {
      Tensor part(all.dtype(), {end - first, all.shape()[1], all.shape()[2]});
      const std::int64_t row_size = all.shape()[1] * all.shape()[2];
      std::copy_n(all.data<float>() + first * row_size, part.size(), part.data<float>());
      return part;
    };
    for (std::int64_t req_idx = 0; req_idx < 3; ++req_idx) {
      const std::int64_t first_token =
          step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
      const std::int64_t query_len = step.metadata.query_len(req_idx);
      const std::int64_t seq_len = step.metadata.seq_lens[static_cast<std::size_t>(req_idx)];
      const Tensor query = rows(step.query, first_token, first_token + query_len);
      const std::span<const std::int32_t> blocks = step.metadata.block_table.row(req_idx);
      const Tensor key = gather_keys(step.cache, blocks, seq_len, DType::kFloat32);
      const Tensor value = gather_values(step.cache, blocks, seq_len, DType::kFloat32);
      const RequestAttention prefix =
          contiguous_attention<float>(query, rows(key, 0, 12), rows(value, 0, 12), whole_prefix);
      const RequestAttention suffix = contiguous_attention<float>(
          query, rows(key, 12, seq_len), rows(value, 12, seq_len), step.variant);
      const AttentionStates merged =
          merge_states({prefix.output, prefix.lse}, {suffix.output, suffix.lse});
      CHECK(compare_bits(rows(got.output, first_token, first_token + query_len), merged.output)
                .agrees());
      for (std::int64_t head_idx = 0; head_idx < num_heads; ++head_idx) {
        for (std::int64_t i = 0; i < query_len; ++i) {
          CHECK((got.lse.view<float, 2>()(head_idx, first_token + i)) ==
                (merged.lse.view<float, 2>()(head_idx, i)));
        }
      }
    }
  }

  TEST_CASE("K17: where the blocks lie changes no bit of a cascade") {
    const AttentionStep step = small_step();
    AttentionStep moved = step;
    // Block b goes to the place num_blocks − 1 − b.
    const std::int64_t num_blocks = step.cache.spec().num_blocks;
    Tensor keys = step.cache.keys();
    Tensor values = step.cache.values();
    for (Tensor* side : {&keys, &values}) {
      const Tensor before = *side;
      const std::int64_t block = side->size() / num_blocks;
      for (std::int64_t b = 0; b < num_blocks; ++b) {
        std::copy_n(before.data<float>() + b * block, block,
                    side->data<float>() + (num_blocks - 1 - b) * block);
      }
    }
    moved.cache.assign(keys, values);
    for (std::int32_t& entry : moved.metadata.block_table.entries) {
      if (entry != kNoBlock) entry = static_cast<std::int32_t>(num_blocks - 1 - entry);
    }
    check_same_bits(cascade<float>(moved, 3), cascade<float>(step, 3));
  }

  TEST_CASE("the prefix is one request of all queries and the suffix starts after it") {
    // Blocks of 4: requests 0 and 2 have 1 and 2 queries, request 1 none.
    CommonAttentionMetadata metadata;
    metadata.query_start_loc = {0, 1, 1, 3};
    metadata.seq_lens = {13, 5, 14};
    metadata.block_table = BlockTable::from_rows({{6, 1, 4, 9}, {8, 0}, {6, 1, 4, 2}});
    metadata.slot_mapping = {36, 8, 9};
    AttentionVariant variant;
    variant.sinks = {0.5f};
    const CascadeParts parts = split_cascade(metadata, variant, 4, 3);
    CHECK(parts.prefix.query_start_loc == std::vector<std::int32_t>{0, 3});
    CHECK(parts.prefix.seq_lens == std::vector<std::int32_t>{12});
    CHECK(parts.prefix.block_table.entries == std::vector<std::int32_t>{6, 1, 4});
    CHECK(parts.suffix.query_start_loc == metadata.query_start_loc);
    CHECK(parts.suffix.seq_lens == std::vector<std::int32_t>{1, 0, 2});
    CHECK(parts.suffix.block_table.entries == std::vector<std::int32_t>{9, -1, 2});
    CHECK_FALSE(parts.prefix_variant.visibility.causal);
    CHECK(parts.suffix_variant.visibility.causal);
    CHECK(parts.prefix_variant.sinks == std::vector<float>{0.5f});
    CHECK(parts.suffix_variant.sinks.empty());
  }

  TEST_CASE("C3: a prefix that the block tables do not share is refused") {
    AttentionStep step = small_step();
    const BlockTable& table = step.metadata.block_table;
    const std::string message = refusal_of(step, 3);
    CHECK(message == "none");
    // Request 1's second block is another one: a copy, but nothing says so.
    const std::int32_t copied = table.row(1)[4];
    step.metadata.block_table.row(1)[1] = copied;
    CHECK(refusal_of(step, 3) ==
          "num_common_prefix_blocks is 3, but block_table[0][1] is " +
              std::to_string(table.row(0)[1]) + " and block_table[1][1] is " +
              std::to_string(copied) +
              ": the prefix is not common. Were references counted instead of tables compared?");
    CHECK(refusal_of(step, 1) == "none");
  }

  TEST_CASE("a prefix that reaches into some request's queries is refused") {
    // Request 0 has 12 tokens before its query, request 2 has 14.
    CHECK(refusal_of(small_step(), 4) ==
          "num_common_prefix_blocks is 4, blocks of 4 tokens, but request 0 has 12 tokens before "
          "its queries: they would see keys that come after them.");
    CHECK(refusal_of(small_step(), std::int64_t{1} << 62).find("request 0 has 12 tokens") !=
          std::string::npos);
    CHECK(refusal_of(small_step(), 0) ==
          "num_common_prefix_blocks is 0, but cascade attention needs at least 1.");
  }

  TEST_CASE("what depends on a query's position is refused") {
    const auto refused = [](const auto& change) {
      AttentionStep step = small_step();
      change(step.variant);
      return refusal_of(step, 3);
    };
    const std::string why = ": its prefix part knows no position of a query.";
    CHECK(refused([](AttentionVariant& variant) { variant.visibility.window_left = 5; }) ==
          "cascade attention does not take a sliding window" + why);
    CHECK(refused([](AttentionVariant& variant) { variant.visibility.window_right = 0; }) ==
          "cascade attention does not take a sliding window" + why);
    CHECK(refused([](AttentionVariant& variant) { variant.alibi_slopes.assign(6, 0.5f); }) ==
          "cascade attention does not take ALiBi" + why);
    CHECK(refused([](AttentionVariant& variant) {
            variant.mm_prefix_ranges = {{0, 1, 3}};
          }) == "cascade attention does not take prefix-LM ranges" + why);
    CHECK(refused([](AttentionVariant& variant) {
            variant.attn_type = AttnType::kEncoderDecoder;
            variant.visibility.causal = false;
          }) == "cascade attention is for decoders, but attn_type is encoder_decoder.");
  }
}
