// What may change no bit of CPU_ATTN's results, and what it refuses.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "reference/cache/gather.h"
#include "tests/gpu/cpu_attn/cpu_attn_runs.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Output and LSE of a step whose tokens are stored already.
AttentionResult forward(const AttentionStep& step, int num_threads = 1) {
  AttentionResult result;
  const auto impl = make_cpu_attn_backend(num_threads)->make_impl(step.cache);
  impl->forward(step.query, step.key, step.value, step.metadata, step.variant, result.output,
                result.lse);
  return result;
}

AttentionStep after_its_write(AttentionStep step) {
  const auto impl = make_cpu_attn_backend(1)->make_impl(step.cache);
  impl->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
  step.cache = impl->kv_cache();
  step.metadata.slot_mapping.assign(step.metadata.slot_mapping.size(), kNoSlot);
  return step;
}

// The same keys and values in blocks of another size, elsewhere, in another layout.
AttentionStep repaged(const AttentionStep& step, std::int64_t block_size, KvLayout layout) {
  AttentionStep other = step;
  const std::int64_t num_reqs = step.metadata.num_reqs();
  const std::int64_t blocks_per_req = blocks_for_tokens(step.metadata.max_seq_len(), block_size);
  KvCacheSpec spec = step.cache.spec();
  spec.block_size = block_size;
  spec.layout = layout;
  spec.num_blocks = num_reqs * blocks_per_req + 3;
  other.cache = KvCache(spec);
  other.cache.k_scale = step.cache.k_scale;
  other.cache.v_scale = step.cache.v_scale;
  other.metadata.block_table = BlockTable::unused(num_reqs, blocks_per_req + 1);
  std::vector<std::int32_t> blocks = Random(77).permutation(spec.num_blocks);
  Tensor keys = other.cache.keys();
  Tensor values = other.cache.values();
  const auto copy_token = [](const Tensor& from, std::int64_t from_slot, Tensor& to,
                             std::int64_t to_slot) {
    const std::int64_t bytes = from.size_in_bytes() / (from.shape()[0] * from.shape()[1]);
    std::memcpy(to.bytes() + to_slot * bytes, from.bytes() + from_slot * bytes,
                static_cast<std::size_t>(bytes));
  };
  const Tensor old_keys = step.cache.keys();
  const Tensor old_values = step.cache.values();
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    const std::int64_t seq_len = step.metadata.seq_lens[req_idx];
    for (std::int64_t index = 0; index < blocks_for_tokens(seq_len, block_size); ++index) {
      other.metadata.block_table.row(req_idx)[index] = blocks.back();
      blocks.pop_back();
    }
    for (std::int64_t position = 0; position < seq_len; ++position) {
      const std::int64_t from =
          slot_of(step.metadata.block_table.row(req_idx), position, step.cache.spec().block_size);
      const std::int64_t to =
          slot_of(other.metadata.block_table.row(req_idx), position, block_size);
      copy_token(old_keys, from, keys, to);
      copy_token(old_values, from, values, to);
    }
  }
  other.cache.assign(keys, values);
  return other;
}

Tensor rows_of(const Tensor& array, std::int64_t first, std::int64_t count) {
  Tensor rows(array.dtype(), {count, array.shape()[1], array.shape()[2]});
  const std::int64_t bytes_per_row = array.size_in_bytes() / array.shape()[0];
  std::memcpy(rows.bytes(), array.bytes() + first * bytes_per_row,
              static_cast<std::size_t>(rows.size_in_bytes()));
  return rows;
}

// One request of a step, by itself.
AttentionStep alone(const AttentionStep& step, std::int64_t req_idx) {
  AttentionStep one = step;
  const std::int64_t first = step.metadata.query_start_loc[req_idx];
  const std::int64_t query_len = step.metadata.query_len(req_idx);
  one.query = rows_of(step.query, first, query_len);
  one.key = rows_of(step.key, first, query_len);
  one.value = rows_of(step.value, first, query_len);
  one.metadata.query_start_loc = {0, static_cast<std::int32_t>(query_len)};
  one.metadata.seq_lens = {step.metadata.seq_lens[req_idx]};
  const auto row = step.metadata.block_table.row(req_idx);
  one.metadata.block_table = BlockTable::from_rows({{row.begin(), row.end()}});
  one.metadata.slot_mapping.assign(static_cast<std::size_t>(query_len), kNoSlot);
  one.variant.mm_prefix_ranges.clear();
  for (MmPrefixRange range : step.variant.mm_prefix_ranges) {
    if (range.req_idx != req_idx) continue;
    range.req_idx = 0;
    one.variant.mm_prefix_ranges.push_back(range);
  }
  return one;
}

}  // namespace

TEST_SUITE("CPU_ATTN invariance") {
  TEST_CASE("the number of threads does not change a bit") {
    for (const AttentionCase& attention_case : long_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = after_its_write(attention_case.step());
      const AttentionResult expected = forward(step, 1);
      for (const int num_threads : {2, 3, 5}) {
        CAPTURE(num_threads);
        const AttentionResult got = forward(step, num_threads);
        check_identical("output", got.output, expected.output);
        check_identical("lse", got.lse, expected.lse);
      }
    }
  }

  TEST_CASE("neither the block size nor the block table nor the layout changes a bit") {
    for (const AttentionCase& attention_case : long_cases()) {
      if (attention_case.options.attn_type == AttnType::kEncoderOnly) continue;
      CAPTURE(attention_case.name);
      const AttentionStep step = after_its_write(attention_case.step());
      const AttentionResult expected = forward(step);
      std::size_t index = 0;
      for (const std::int64_t block_size : {1, 7, 16, 64, 256}) {
        CAPTURE(block_size);
        const KvLayout layout = all_kv_layouts()[index++ % all_kv_layouts().size()];
        const AttentionResult got = forward(repaged(step, block_size, layout));
        check_identical("output", got.output, expected.output);
        check_identical("lse", got.lse, expected.lse);
      }
    }
  }

  TEST_CASE("a request gets the same bits alone and in a batch") {
    for (const AttentionCase& attention_case : long_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = after_its_write(attention_case.step());
      const AttentionResult together = forward(step);
      for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
        CAPTURE(req_idx);
        const std::int64_t query_len = step.metadata.query_len(req_idx);
        if (query_len == 0) continue;
        const AttentionResult got = forward(alone(step, req_idx));
        const std::int64_t first = step.metadata.query_start_loc[req_idx];
        check_identical("output", got.output, rows_of(together.output, first, query_len));
      }
    }
  }

  TEST_CASE("a NaN in a value that only later rows see stays out of the earlier ones") {
    for (const std::int32_t query_len : {3, 40}) {
      CAPTURE(query_len);
      RandomStepOptions options;
      options.num_query_heads = 4;
      options.requests = {{query_len, 100}};
      AttentionStep step = after_its_write(random_step(options, 5));
      const AttentionResult clean = forward(step);
      Tensor values = step.cache.values();
      const std::int64_t slot = slot_of(step.metadata.block_table.row(0), 98, 4);
      const std::int64_t row_size = values.shape()[2] * values.shape()[3];
      std::fill_n(values.data<float>() + slot * row_size, row_size, float_from_bits(0x7fffffffu));
      step.cache.assign(step.cache.keys(), values);
      const AttentionResult got = forward(step);
      // The last two tokens see position 98; all others keep their bits.
      check_identical("output", rows_of(got.output, 0, query_len - 2),
                      rows_of(clean.output, 0, query_len - 2));
      const Tensor last_rows = rows_of(got.output, query_len - 2, 2);
      for (std::int64_t index = 0; index < last_rows.size(); ++index) {
        CHECK(bits_of(last_rows.data<float>()[index]) == 0x7fffffffu);
      }
    }
  }

  TEST_CASE("a number of threads that makes no sense is refused by name") {
    CHECK_THROWS_WITH_AS(make_cpu_attn_backend(-1),
                         "num_threads is -1, but CPU_ATTN takes 1 to 1024, or 0 for as many as "
                         "there are CPUs.",
                         Error);
    CHECK_THROWS_AS(make_cpu_attn_backend(1025), Error);
    CHECK(make_cpu_attn_backend(0)->name() == "CPU_ATTN");
    CHECK(make_cpu_attn_backend(3)->target() == "cpu");
  }

  TEST_CASE("an inconsistent step reaches no thread") {
    const AttentionStep step = random_step({}, 43);
    const auto impl = make_cpu_attn_backend()->make_impl(step.cache);
    Tensor output, lse;
    const auto attend_to = [&](const AttentionStep& bad) {
      impl->forward(bad.query, bad.key, bad.value, bad.metadata, bad.variant, output, lse);
    };
    AttentionStep bad = step;
    bad.metadata.block_table.entries[0] = 4711;
    CHECK_THROWS_AS(attend_to(bad), Error);
    bad = step;
    bad.variant.scale = -1.0;
    CHECK_THROWS_AS(attend_to(bad), Error);
    CHECK_THROWS_AS(impl->do_kv_cache_update(step.key, step.value, {1, 2}), Error);
    KvCache wrong_scales = step.cache;
    wrong_scales.k_scale = {1.0f, 1.0f, 1.0f};
    CHECK_THROWS_AS(make_cpu_attn_backend()->make_impl(wrong_scales), Error);
    CHECK_NOTHROW(attend_to(step));
  }
}
