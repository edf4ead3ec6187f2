// cascade/1_prefix alone: the bits of paged_prefill/2_tensor_cores where one partition holds the prefix, nothing from
// one row to another, and what it refuses.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gpu/backends/device_batch.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "gpu/backends/rung_choice.h"
#include "reference/attention/cascade.h"
#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// One request of some queries that see all keys: what a prefix is to the kernel.
AttentionStep prefix_step(std::int32_t num_queries,
                          std::int32_t num_keys,
                          std::int64_t group,
                          DType dtype = DType::kBFloat16,
                          std::int64_t block_size = 3) {
  RandomStepOptions options;
  options.dtype = dtype;
  options.num_kv_heads = 2;
  options.num_query_heads = 2 * group;
  options.head_size = 48;
  options.head_size_v = 80;
  options.block_size = block_size;
  options.causal = false;
  options.requests = {{num_queries, num_keys}};
  options.padding_rows = 1;
  return random_step(options, static_cast<std::uint64_t>(num_queries * 1000 + num_keys + group));
}

AttentionResult by_prefix_kernel(const std::shared_ptr<Device>& device, const AttentionStep& step) {
  return attend(step, *make_backend_of_rung(device, kernels_of(*device).cascade_prefix));
}

// Sizes around a tile of keys, a partition, a tile of rows, and each group.
void check_bits_of_one_partition(const std::shared_ptr<Device>& device) {
  const auto check = [&](const AttentionStep& step) {
    const auto& rung = kernels_of(*device).paged_prefill[1];
    check_same_bits(by_prefix_kernel(device, step),
                    attend(step, *make_backend_of_rung(device, rung)));
  };
  for (const std::int32_t num_keys : {7, 63, 64, 65, 511, 512}) {
    CAPTURE(num_keys);
    check(prefix_step(7, num_keys, 3));
  }
  for (const std::int64_t group : {1, 2, 4, 5, 6, 7, 8, 16}) {
    CAPTURE(group);
    check(prefix_step(19, 70, group, group % 2 == 0 ? DType::kFloat16 : DType::kBFloat16));
  }
}

// A NaN in one token's query, and an infinity among the values of one KV head.
void check_nan_stays(const std::shared_ptr<Device>& device) {
  const AttentionStep step = prefix_step(9, 600, 4);
  AttentionStep poisoned = step;
  const std::int64_t row_size = 8 * 48;
  poisoned.query.data<BFloat16>()[3 * row_size] = store_as<BFloat16>(std::nan(""));
  const AttentionResult expected = by_prefix_kernel(device, step);
  const AttentionResult got = by_prefix_kernel(device, poisoned);
  const std::int64_t elements = 8 * 80;
  CHECK(std::isnan(got.output.data<float>()[3 * elements]));
  for (std::int64_t index = 0; index < got.output.size(); ++index) {
    if (index / elements == 3 && index % elements < 80) continue;  // its first head
    CHECK(bits_of(got.output.data<float>()[index]) ==
          bits_of(expected.output.data<float>()[index]));
  }
}

// The rows of every token in reverse order.
// \param array       a part of a batch
// \param num_tokens  its first tokens; the others stay
void reverse_tokens(Tensor& array, std::int64_t num_tokens) {
  const std::int64_t row_bytes = array.size_in_bytes() / array.shape()[0];
  for (std::int64_t token = 0; token < num_tokens / 2; ++token) {
    std::byte* const row = array.bytes() + token * row_bytes;
    std::swap_ranges(row, row + row_bytes, array.bytes() + (num_tokens - 1 - token) * row_bytes);
  }
}

// All queries see all keys, so in whatever order they come, and wherever the keys lie, they get what they got.
void check_neighbours_and_places(const std::shared_ptr<Device>& device) {
  constexpr std::int32_t kQueries = 37;
  const AttentionStep step = prefix_step(kQueries, 600, 4);
  AttentionResult expected = by_prefix_kernel(device, step);
  for (const std::int64_t block_size : {1, 16, 32}) {
    CAPTURE(block_size);
    AttentionStep elsewhere = prefix_step(kQueries, 600, 4, DType::kBFloat16, block_size);
    replace_request(elsewhere, 0, step);
    check_same_bits(by_prefix_kernel(device, elsewhere), expected);
  }
  AttentionStep reversed = step;
  reverse_tokens(reversed.query, kQueries);
  reverse_tokens(expected.output, kQueries);
  check_identical("output", by_prefix_kernel(device, reversed).output, expected.output);
}

std::string refusal_of(const AttentionStep& step) {
  try {
    by_prefix_kernel(simulator_device(), step);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_SUITE("cascade attention on devices") {
  TEST_CASE("within a partition a prefix has the bits of paged_prefill 2 (simulator)") {
    check_bits_of_one_partition(simulator_device());
  }
  TEST_CASE("within a partition a prefix has the bits of paged_prefill 2 (GPU)") {
    if (const auto device = gpu_or_skip()) check_bits_of_one_partition(device);
  }

  TEST_CASE("K5: a NaN in one row of a tile changes no bit of another (simulator)") {
    check_nan_stays(simulator_device());
  }
  TEST_CASE("K5: a NaN in one row of a tile changes no bit of another (GPU)") {
    if (const auto device = gpu_or_skip()) check_nan_stays(device);
  }

  TEST_CASE("K16 and K17: neither other rows nor blocks change a bit of a prefix (simulator)") {
    check_neighbours_and_places(simulator_device());
  }
  TEST_CASE("K16 and K17: neither other rows nor blocks change a bit of a prefix (GPU)") {
    if (const auto device = gpu_or_skip()) check_neighbours_and_places(device);
  }

  TEST_CASE("the prefix kernel refuses types and heads and variants that it is not for") {
    CHECK(refusal_of(prefix_step(3, 9, 2, DType::kFloat32)) ==
          "cascade/1_prefix: the query is float32 and the cache float32, but tensor cores multiply "
          "a float16 or bfloat16 query with a cache of the same type or of fp8. Earlier rungs take "
          "every type.");
    AttentionStep step = prefix_step(3, 9, 2);
    step.variant.visibility.causal = true;
    CHECK(refusal_of(step) ==
          "cascade/1_prefix: every row of a prefix sees every key, so there may be no causality, "
          "window, prefix-LM range or ALiBi.");
    RandomStepOptions options;
    options.dtype = DType::kBFloat16;
    options.head_size = options.head_size_v = 16;
    options.causal = false;
    options.requests = {{1, 3}, {1, 4}};
    CHECK(refusal_of(random_step(options, 1)) ==
          "cascade/1_prefix: num_reqs is 2, but a prefix is one request of all queries.");
    options.requests = {{1, 3}};
    options.kv_cache_dtype = DType::kFp8E4M3;
    CHECK(refusal_of(random_step(options, 1)) ==
          "cascade/1_prefix: the cache is fp8_e4m3 and the query bfloat16, but they must have "
          "the same type. paged_prefill/3_pipelined takes fp8.");
    options.kv_cache_dtype.reset();
    options.head_size_v = 144;
    CHECK(refusal_of(random_step(options, 1)) ==
          "cascade/1_prefix: head_size_v is 144, but it must be from 16 to 128. "
          "paged_prefill/3_pipelined takes longer heads.");
  }
}
