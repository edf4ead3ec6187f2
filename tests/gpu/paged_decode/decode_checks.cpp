#include "tests/gpu/paged_decode/decode_checks.h"

#include "gpu/backends/naive.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/tensor_core_steps.h"

namespace pagelab::test {

AttentionResult decode_by(int rung,
                          const AttentionStep& step,
                          const std::shared_ptr<Device>& device) {
  return attend(step, *make_naive_backend(device, rung));
}

std::optional<RandomStepOptions> options_for(int rung, RandomStepOptions options) {
  if (rung < kPipelinedRung) return options;
  if (rung == kTensorCoreRung) {
    const bool exceeds_float16 = options.amplitude > 1000.0;
    const bool is_16_bit = options.dtype == DType::kFloat16 || options.dtype == DType::kBFloat16;
    if (!is_16_bit) options.dtype = exceeds_float16 ? DType::kBFloat16 : DType::kFloat16;
    if (options.kv_cache_dtype && !is_fp8(*options.kv_cache_dtype)) options.kv_cache_dtype = {};
  }
  const bool reads_own_tokens = options.attn_type == AttnType::kEncoderOnly;
  const DType keys =
      reads_own_tokens ? options.dtype : options.kv_cache_dtype.value_or(options.dtype);
  if (keys == DType::kFloat64) return std::nullopt;
  options.head_size = (options.head_size + 15) / 16 * 16;
  options.head_size_v = (options.head_size_v + 15) / 16 * 16;
  return options;
}

std::optional<AttentionStep> step_for(int rung, const AttentionStep& step) {
  if (rung < kPipelinedRung) return step;
  if (rung == kTensorCoreRung) return for_tensor_cores(step);
  return std::nullopt;
}

double check_decode_bound(int rung, const AttentionStep& step, const AttentionResult& got) {
  return check_within_bound(step, got, *make_naive_backend(simulator_device(), rung));
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
