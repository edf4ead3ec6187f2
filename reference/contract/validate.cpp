#include "reference/contract/validate.h"

#include <cmath>
#include <limits>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

void validate_array(const char* name, const Tensor& array, const char* axes, DType query_dtype) {
  if (array.rank() != 3) {
    refuse("{} has shape {}, but its axes must be {}.", name, to_string(array.shape()), axes);
  }
  if (!is_activation_dtype(array.dtype())) {
    refuse("{} is {}, but query, key and value must be float64, float32, float16 or bfloat16.",
           name, to_string(array.dtype()));
  }
  if (array.dtype() != query_dtype) {
    refuse("{} is {}, but query is {}, and all three arrays must have the same dtype.", name,
           to_string(array.dtype()), to_string(query_dtype));
  }
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t length : array.shape()) {
    if (length > kLargest) {
      refuse("{} has shape {}, but no length may exceed {}.", name, to_string(array.shape()),
             kLargest);
    }
  }
  if (array.shape()[1] < 1 || array.shape()[2] < 1) {
    refuse("{} has shape {}, but it must have at least one head and one element a head.", name,
           to_string(array.shape()));
  }
}

void validate_arrays(const Tensor& query, const Tensor& key, const Tensor& value) {
  const DType dtype = query.dtype();
  validate_array("query", query, "[num_tokens, num_query_heads, head_size]", dtype);
  validate_array("key", key, "[num_tokens, num_kv_heads, head_size]", dtype);
  validate_array("value", value, "[num_tokens, num_kv_heads, head_size_v]", dtype);
  if (key.shape()[0] != query.shape()[0]) {
    refuse("key has {} tokens, but query has {}.", key.shape()[0], query.shape()[0]);
  }
  if (value.shape()[0] != query.shape()[0]) {
    refuse("value has {} tokens, but query has {}.", value.shape()[0], query.shape()[0]);
  }
  if (value.shape()[1] != key.shape()[1]) {
    refuse("value has {} heads, but key has {}.", value.shape()[1], key.shape()[1]);
  }
  if (key.shape()[2] != query.shape()[2]) {
    refuse("key's head_size is {}, but query's is {}.", key.shape()[2], query.shape()[2]);
  }
  if (query.shape()[1] % key.shape()[1] != 0) {
    refuse("query has {} heads, which is not a multiple of the {} KV heads.", query.shape()[1],
           key.shape()[1]);
  }
}

// A quantisation factor for the whole cache, or one a head.
void validate_cache_scale(const char* name,
                          const std::vector<float>& scale,
                          const KvCacheSpec& spec) {
  const std::int64_t length = static_cast<std::int64_t>(scale.size());
  if (length != 1 && length != spec.num_kv_heads) {
    refuse("{} has {} entries, but it must have 1, or 1 for each of the {} KV heads.", name, length,
           spec.num_kv_heads);
  }
  for (std::int64_t head_idx = 0; head_idx < length; ++head_idx) {
    const float factor = scale[head_idx];
    if (!(factor > 0.0f && std::isfinite(factor))) {
      refuse("{}[{}] is {}, but a scale must be positive and finite.", name, head_idx, factor);
    }
    if (!is_fp8(spec.dtype) && factor != 1.0f) {
      refuse("{}[{}] is {}, but the cache is {}, and only fp8 caches have a scale other than 1.",
             name, head_idx, factor, to_string(spec.dtype));
    }
  }
}

void validate_cache_sizes(const Tensor& key, const Tensor& value, const KvCacheSpec& spec) {
  if (spec.num_kv_heads != key.shape()[1]) {
    refuse("the cache has {} KV heads, but key has {}.", spec.num_kv_heads, key.shape()[1]);
  }
  if (spec.head_size != key.shape()[2]) {
    refuse("the key cache's head_size is {}, but key's is {}.", spec.head_size, key.shape()[2]);
  }
  if (spec.head_size_v != value.shape()[2]) {
    refuse("the value cache's head_size_v is {}, but value's is {}.", spec.head_size_v,
           value.shape()[2]);
  }
}

}  // namespace

void validate(const Tensor& query,
              const Tensor& key,
              const Tensor& value,
              const KvCacheSpec& spec) {
  validate_arrays(query, key, value);
  validate_cache_sizes(key, value, spec);
}

void validate(const KvCache& cache) {
  validate_cache_scale("k_scale", cache.k_scale, cache.spec());
  validate_cache_scale("v_scale", cache.v_scale, cache.spec());
}

void validate(const AttentionStep& step, StepUse use) {
  const KvCacheSpec& spec = step.cache.spec();
  validate(step.query, step.key, step.value, spec);
  validate(step.cache);
  validate(step.metadata, step.variant.attn_type, step.num_tokens(), spec, use);
  validate(step.variant, step.num_query_heads(), step.metadata);
}

}  // namespace pagelab
