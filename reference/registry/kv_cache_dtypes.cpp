#include "reference/registry/kv_cache_dtypes.h"

namespace pagelab {

const std::vector<std::string_view>& kv_cache_dtype_names() {
  static const std::vector<std::string_view> kNames = {
      "auto",
      "float16",
      "bfloat16",
      "fp8",
      "fp8_e4m3",
      "fp8_e5m2",
      "fp8_inc",
      "fp8_ds_mla",
      "nvfp4_ds_mla",
      "turboquant_k8v4",
      "turboquant_4bit_nc",
      "turboquant_k3v4_nc",
      "turboquant_3bit_nc",
      "ultraquant_4bit",
      "int4_per_token_head",
      "int8_per_token_head",
      "fp8_per_token_head",
      "nvfp4",
      "nvfp4_4over6",
  };
  return kNames;
}

bool is_quantized_kv_cache(const std::optional<std::string>& kv_cache_dtype) {
  if (!kv_cache_dtype) return false;
  const std::string_view name = *kv_cache_dtype;
  return name.starts_with("fp8") || name.starts_with("nvfp4") || name.ends_with("per_token_head");
}

}  // namespace pagelab
