#include "tests/gpu/cpu_attn/cpu_attn_runs.h"

#include <doctest/doctest.h>

#include "reference/contract/compare.h"
#include "reference/contract/error.h"

namespace pagelab::test {

std::vector<CpuAttnWidth> cpu_attn_widths() {
  try {
    make_cpu_attn_backend(1, CpuAttnWidth::kAvx512);
  } catch (const Error&) {
    return {CpuAttnWidth::kAvx2};
  }
  return {CpuAttnWidth::kAvx2, CpuAttnWidth::kAvx512};
}

void check_identical(const char* what, const Tensor& got, const Tensor& expected) {
  if (identical(got, expected)) return;
  const Comparison comparison = compare_bits(got, expected);
  FAIL_CHECK(what << ": " << to_string(comparison));
}

std::vector<AttentionCase> long_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](std::string name, const auto& change) {
    RandomStepOptions options;
    options.num_query_heads = 4;
    options.num_kv_heads = 2;
    options.head_size = 32;
    options.head_size_v = 16;
    options.block_size = 16;
    change(options);
    cases.push_back({std::move(name), options, 700 + cases.size()});
  };
  // 64 keys a tile, 1,024 a partition; 16 rows are few, 128 a task.
  add("decode around the ends of tiles and partitions", [](auto& o) {
    o.requests = {{1, 63}, {1, 64}, {1, 65}, {1, 1023}, {1, 1024}, {1, 1025}, {1, 2200}};
  });
  add("few rows of several tokens", [](auto& o) {
    o.requests = {{3, 70}, {8, 1030}, {8, 8}};
    o.window_left = 40;
  });
  add("many rows in one task over several partitions", [](auto& o) {
    o.requests = {{9, 1100}, {64, 1100}, {33, 40}};
  });
  add("many rows in several tasks", [](auto& o) { o.requests = {{65, 65}, {130, 200}}; });
  add("groups of seven in bfloat16", [](auto& o) {
    o.num_query_heads = 14;
    o.dtype = DType::kBFloat16;
    o.requests = {{1, 1200}, {2, 130}, {40, 90}};
  });
  add("groups of sixteen and heads of odd size in float16", [](auto& o) {
    o.num_query_heads = 16;
    o.num_kv_heads = 1;
    o.head_size = 80;
    o.head_size_v = 33;
    o.dtype = DType::kFloat16;
    o.requests = {{1, 1050}, {17, 70}};
  });
  add("every option over an fp8 cache", [](auto& o) {
    o.kv_cache_dtype = DType::kFp8E4M3;
    o.scales_per_head = true;
    o.window_left = 90;
    o.logit_softcap = 1.7;
    o.alibi = o.sinks = o.mm_prefix = true;
    o.padding_rows = 2;
    o.requests = {{1, 1100}, {40, 150}, {5, 300}, {70, 70}};
  });
  add("a symmetric window over float64", [](auto& o) {
    o.dtype = DType::kFloat64;
    o.causal = false;
    o.window_left = 70;
    o.window_right = 3;
    o.requests = {{80, 150}, {2, 1500}};
  });
  add("encoder tokens", [](auto& o) {
    o.attn_type = AttnType::kEncoderOnly;
    o.dtype = DType::kBFloat16;
    o.requests = {{3, 3}, {150, 150}};
  });
  add("cross attention", [](auto& o) {
    o.attn_type = AttnType::kEncoderDecoder;
    o.requests = {{1, 1300}, {70, 100}};
  });
  return cases;
}

}  // namespace pagelab::test
