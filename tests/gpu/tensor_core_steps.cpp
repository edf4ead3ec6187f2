#include "tests/gpu/tensor_core_steps.h"

#include <iterator>
#include <optional>

namespace pagelab::test {

AttentionCase for_tensor_cores(AttentionCase attention_case) {
  constexpr std::int64_t kHeadSizes[][2] = {{16, 32}, {64, 64}, {32, 16}, {48, 80},  {64, 48},
                                            {32, 32}, {96, 64}, {16, 16}, {128, 128}};
  RandomStepOptions& options = attention_case.options;
  const bool is_16_bit = options.dtype == DType::kFloat16 || options.dtype == DType::kBFloat16;
  const bool exceeds_float16 = options.amplitude > 1000.0;
  if (!is_16_bit) {
    options.dtype =
        attention_case.seed % 2 == 0 && !exceeds_float16 ? DType::kFloat16 : DType::kBFloat16;
  }
  const bool is_fp8 =
      options.kv_cache_dtype == DType::kFp8E4M3 || options.kv_cache_dtype == DType::kFp8E5M2;
  if (!is_fp8) options.kv_cache_dtype = std::nullopt;
  const auto& sizes = kHeadSizes[attention_case.seed % std::size(kHeadSizes)];
  options.head_size = sizes[0];
  options.head_size_v = sizes[1];
  if (options.num_query_heads > 12) options.num_query_heads = 2 * options.num_kv_heads;
  return attention_case;
}

Tensor padded(const Tensor& rows, DType dtype) {
  const std::int64_t size = rows.shape().back();
  std::vector<std::int64_t> shape = rows.shape();
  shape.back() = (size + 15) / 16 * 16;
  Tensor wide(DType::kFloat64, shape);
  for (std::int64_t index = 0; index < wide.size(); ++index) {
    const std::int64_t element = index % shape.back();
    const std::int64_t row = index / shape.back();
    wide.data<double>()[index] = element < size ? rows.value(row * size + element) : 0.0;
  }
  return convert(wide, dtype);
}

AttentionStep for_tensor_cores(const AttentionStep& step) {
  AttentionStep wide = step;
  wide.query = padded(step.query, DType::kFloat16);
  wide.key = padded(step.key, DType::kFloat16);
  wide.value = padded(step.value, DType::kFloat16);
  KvCacheSpec spec = step.cache.spec();
  const DType cache_dtype = is_fp8(spec.dtype) ? spec.dtype : DType::kFloat16;
  spec.dtype = cache_dtype;
  spec.head_size = (spec.head_size + 15) / 16 * 16;
  spec.head_size_v = (spec.head_size_v + 15) / 16 * 16;
  KvCache cache(spec);
  cache.assign(padded(step.cache.keys(), cache_dtype), padded(step.cache.values(), cache_dtype));
  cache.k_scale = step.cache.k_scale;
  cache.v_scale = step.cache.v_scale;
  wide.cache = cache;
  return wide;
}

}  // namespace pagelab::test
