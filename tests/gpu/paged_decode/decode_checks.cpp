#include "tests/gpu/paged_decode/decode_checks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/backends/naive.h"
#include "reference/contract/compare.h"
#include "reference/registry/reference_backends.h"
#include "tests/gpu/devices.h"

namespace pagelab::test {

AttentionResult decode_by(int rung,
                          const AttentionStep& step,
                          const std::shared_ptr<Device>& device) {
  return attend(step, *make_naive_backend(device, rung));
}

std::optional<RandomStepOptions> options_for(int rung, RandomStepOptions options) {
  if (rung != kPipelinedRung) return options;
  const bool reads_own_tokens = options.attn_type == AttnType::kEncoderOnly;
  const DType keys =
      reads_own_tokens ? options.dtype : options.kv_cache_dtype.value_or(options.dtype);
  if (keys == DType::kFloat64) return std::nullopt;
  options.head_size = (options.head_size + 15) / 16 * 16;
  options.head_size_v = (options.head_size_v + 15) / 16 * 16;
  return options;
}

double check_decode_bound(int rung, const AttentionStep& step, const AttentionResult& got) {
  const AttentionResult expected = attend(step, *make_reference_backend());
  AttentionStep stored = step;
  stored.cache = expected.cache;
  const Precision precision = make_naive_backend(simulator_device(), rung)->precision();
  const ErrorBound bound = error_bound(stored, precision);
  const Comparison output = compare_within(got.output, expected.output, bound.output);
  const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  return std::max(output.worst_share_of_bound, lse.worst_share_of_bound);
}

void check_same_result(const AttentionResult& got, const AttentionResult& expected) {
  check_identical("output", got.output, expected.output);
  check_identical("lse", got.lse, expected.lse);
}

void replace_request(AttentionStep& step, std::int64_t req_idx, const AttentionStep& one) {
  const std::int64_t first_token = step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
  const auto copy_rows = [&](Tensor& to, const Tensor& from) {
    const std::int64_t bytes_per_token = from.size_in_bytes() / from.shape()[0];
    std::copy_n(from.bytes(), from.size_in_bytes(), to.bytes() + first_token * bytes_per_token);
  };
  copy_rows(step.query, one.query);
  copy_rows(step.key, one.key);
  copy_rows(step.value, one.value);
  const KvCacheSpec& to_spec = step.cache.spec();
  const KvCacheSpec& from_spec = one.cache.spec();
  Tensor keys = step.cache.keys();
  Tensor values = step.cache.values();
  const Tensor one_keys = one.cache.keys();
  const Tensor one_values = one.cache.values();
  const std::int64_t num_context = one.metadata.seq_lens[0] - one.metadata.query_start_loc[1];
  for (std::int64_t position = 0; position < num_context; ++position) {
    const std::int64_t to =
        slot_of(step.metadata.block_table.row(req_idx), position, to_spec.block_size);
    const std::int64_t from =
        slot_of(one.metadata.block_table.row(0), position, from_spec.block_size);
    const std::int64_t key_bytes = from_spec.num_kv_heads * from_spec.head_size * 4;
    const std::int64_t value_bytes = from_spec.num_kv_heads * from_spec.head_size_v * 4;
    std::copy_n(one_keys.bytes() + from * key_bytes, key_bytes, keys.bytes() + to * key_bytes);
    std::copy_n(one_values.bytes() + from * value_bytes, value_bytes,
                values.bytes() + to * value_bytes);
  }
  step.cache.assign(keys, values);
}

void check_rows(const AttentionResult& together,
                std::int64_t first_token,
                const AttentionResult& alone,
                std::int64_t num_tokens) {
  const std::int64_t num_heads = alone.output.shape()[1];
  const std::int64_t elements_per_token = num_heads * alone.output.shape()[2];
  const std::int64_t num_tokens_together = together.output.shape()[0];
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    for (std::int64_t head = 0; head < num_heads; ++head) {
      const float expected = alone.lse.data<float>()[head * num_tokens + token];
      const float got =
          together.lse.data<float>()[head * num_tokens_together + first_token + token];
      CHECK(bits_of(got) == bits_of(expected));
    }
    for (std::int64_t index = 0; index < elements_per_token; ++index) {
      const float expected = alone.output.data<float>()[token * elements_per_token + index];
      const float got =
          together.output.data<float>()[(first_token + token) * elements_per_token + index];
      CHECK(bits_of(got) == bits_of(expected));
    }
  }
}

std::vector<AttentionCase> long_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.num_query_heads = 3;
    options.num_kv_heads = 1;
    options.head_size = options.head_size_v = 16;
    options.block_size = 16;
    options.requests = {{1, 511}, {1, 512}, {2, 1025}};
    change(options);
    cases.push_back({name, options, 900 + cases.size()});
  };
  add("around one partition and two", [](auto&) {});
  add("bfloat16", [](auto& o) { o.dtype = DType::kBFloat16, o.block_size = 32; });
  add("fp8 cache", [](auto& o) { o.kv_cache_dtype = DType::kFp8E4M3, o.scales_per_head = true; });
  add("blocks of seven tokens", [](auto& o) { o.block_size = 7; });
  add("blocks of one token", [](auto& o) { o.block_size = 1, o.requests = {{1, 530}}; });
  add("a window over the border of two partitions", [](auto& o) { o.window_left = 20; });
  add("sinks and ALiBi", [](auto& o) { o.sinks = true, o.alibi = true; });
  add("prefix ranges far from the window", [](auto& o) {
    o.mm_prefix = true;
    o.window_left = 4;
    o.requests = {{12, 1030}};
    o.num_query_heads = 1;
  });
  add("scores that reach thousands", [](auto& o) { o.amplitude = 40.0, o.scale = 1.0; });
  return cases;
}

}  // namespace pagelab::test
