#include "tests/gpu/attention_checks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "reference/cache/slot_mapping.h"
#include "reference/contract/compare.h"
#include "reference/numerics/float_formats.h"
#include "reference/registry/reference_backends.h"
#include "tests/gpu/devices.h"

namespace pagelab::test {

namespace {

// The bound of a step with its tokens stored, of whatever says how precise it is.
template <typename Implementation>
double check_within_bound_of(const AttentionStep& step,
                             const AttentionResult& got,
                             const Implementation& implementation) {
  const AttentionResult expected = attend(step, *make_reference_backend());
  AttentionStep stored = step;
  stored.cache = expected.cache;
  const ErrorBound bound = error_bound(stored, implementation);
  const Comparison output = compare_within(got.output, expected.output, bound.output);
  const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  return std::max(output.worst_share_of_bound, lse.worst_share_of_bound);
}

}  // namespace

double check_within_bound(const AttentionStep& step,
                          const AttentionResult& got,
                          const Precision& precision) {
  return check_within_bound_of(step, got, precision);
}

double check_within_bound(const AttentionStep& step,
                          const AttentionResult& got,
                          const AttentionBackend& backend) {
  return check_within_bound_of(step, got, backend);
}

void check_same_bits(const AttentionResult& got, const AttentionResult& expected) {
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
  Tensor keys = step.cache.keys();
  Tensor values = step.cache.values();
  const Tensor one_keys = one.cache.keys();
  const Tensor one_values = one.cache.values();
  const auto bytes_per_slot = [](const Tensor& array) {
    return array.size_in_bytes() / (array.shape()[0] * array.shape()[1]);
  };
  const std::int64_t num_context = one.metadata.seq_lens[0] - one.metadata.query_start_loc[1];
  for (std::int64_t position = 0; position < num_context; ++position) {
    const std::int64_t to =
        slot_of(step.metadata.block_table.row(req_idx), position, step.cache.spec().block_size);
    const std::int64_t from =
        slot_of(one.metadata.block_table.row(0), position, one.cache.spec().block_size);
    const std::int64_t key_bytes = bytes_per_slot(keys);
    const std::int64_t value_bytes = bytes_per_slot(values);
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

}  // namespace pagelab::test
