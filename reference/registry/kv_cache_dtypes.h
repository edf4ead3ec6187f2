/// \file
/// The names a KV cache's dtype can have, and which of them quantise.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagelab {

/// All names that `--kv-cache-dtype` takes, in vLLM's order.
const std::vector<std::string_view>& kv_cache_dtype_names();

/// Whether a cache of this dtype is quantised: the name starts with "fp8" or "nvfp4", or ends with
/// "per_token_head". No name is not quantised; nor, for this purpose, are turboquant_* and
/// ultraquant_4bit, which have backends of their own.
/// \source vLLM v1/kv_cache_interface.py, is_quantized_kv_cache
bool is_quantized_kv_cache(const std::optional<std::string>& kv_cache_dtype);

}  // namespace pagelab
