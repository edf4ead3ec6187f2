// R11 for CPU_ATTN: every code of every small format is read exactly, by vectors of either width, and
// in the rest of a row that does not fill one.

#include <doctest/doctest.h>

#include <cstring>

#include "reference/registry/reference_backends.h"
#include "tests/gpu/cpu_attn/cpu_attn_runs.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// With one visible key p = l = 1, and the output is the value itself. Rows of 256 values are read by
// vectors; rows of 8 + 3 are copied first, the last three by themselves.
void check_every_code(DType dtype, std::int64_t head_size_v, std::int32_t query_len) {
  CAPTURE(to_string(dtype));
  CAPTURE(head_size_v);
  CAPTURE(query_len);
  const std::int64_t num_codes = std::int64_t{1} << (8 * bytes_of(dtype));
  const std::int64_t num_reqs = (num_codes + head_size_v - 1) / head_size_v;
  RandomStepOptions options;
  options.kv_cache_dtype = dtype;
  options.num_kv_heads = 1;
  options.num_query_heads = 1;
  options.head_size = 16;
  options.head_size_v = head_size_v;
  options.causal = false;
  options.requests.assign(static_cast<std::size_t>(num_reqs), {1, 1});
  options.query_excess = query_len - 1;
  AttentionStep step = random_step(options, 5);
  step.metadata.slot_mapping.assign(step.metadata.slot_mapping.size(), kNoSlot);
  step.cache.v_scale = {is_fp8(dtype) ? 0.3f : 1.0f};
  const Tensor keys(dtype, step.cache.keys().shape());  // zeros, so that every score is 0
  Tensor values = step.cache.values();
  for (std::int64_t code = 0; code < num_reqs * head_size_v; ++code) {
    const std::int64_t slot =
        slot_of(step.metadata.block_table.row(code / head_size_v), 0, step.cache.spec().block_size);
    const std::int64_t element = slot * head_size_v + code % head_size_v;
    std::memcpy(values.bytes() + element * bytes_of(dtype), &code,
                static_cast<std::size_t>(bytes_of(dtype)));
  }
  step.cache.assign(keys, values);
  const AttentionResult expected = attend(step, *make_reference_float_backend());
  for (const CpuAttnWidth width : cpu_attn_widths()) {
    const AttentionResult got = attend(step, *make_cpu_attn_backend(1, width));
    check_identical("output", got.output, expected.output);
  }
}

}  // namespace

TEST_SUITE("CPU_ATTN codes") {
  TEST_CASE("R11: every code of every small format is read exactly") {
    for (const DType dtype :
         {DType::kFloat16, DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2}) {
      check_every_code(dtype, 256, 1);
      check_every_code(dtype, 11, 1);
      if (is_fp8(dtype)) check_every_code(dtype, 256, 20);
    }
  }
}
