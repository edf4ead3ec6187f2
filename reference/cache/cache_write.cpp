#include "reference/cache/cache_write.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/cache/block_table.h"
#include "reference/cache/cache_element.h"
#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

void require_rows(const char* name,
                  const Tensor& rows,
                  std::int64_t num_kv_heads,
                  std::int64_t head_size) {
  if (!is_activation_dtype(rows.dtype())) {
    refuse("{} is {}; it must be float64, float32, float16 or bfloat16.", name,
           to_string(rows.dtype()));
  }
  if (rows.rank() != 3 || rows.shape()[1] != num_kv_heads || rows.shape()[2] != head_size) {
    refuse("{} has shape {}, but the cache takes [T, {}, {}].", name, to_string(rows.shape()),
           num_kv_heads, head_size);
  }
}

void require_slots(const std::vector<std::int64_t>& slot_mapping, const KvCacheSpec& spec) {
  const std::int64_t num_slots = spec.num_blocks * spec.block_size;
  std::vector<std::int64_t> used;
  for (std::size_t token_idx = 0; token_idx < slot_mapping.size(); ++token_idx) {
    const std::int64_t slot = slot_mapping[token_idx];
    if (slot == kNoSlot) continue;
    if (slot < 0 || slot >= num_slots) {
      throw Error(
          fmt::format("slot_mapping[{}] is {}, but the cache has slots 0 to {} ({} blocks of "
                      "{} tokens); -1 stores nothing.",
                      token_idx, slot, num_slots - 1, spec.num_blocks, spec.block_size));
    }
    used.push_back(slot);
  }
  std::sort(used.begin(), used.end());
  const auto twice = std::adjacent_find(used.begin(), used.end());
  if (twice != used.end()) {
    refuse("slot_mapping holds slot {} twice: one token would overwrite another.", *twice);
  }
}

// Stores one side, keys or values.
template <typename Stored, typename Source, typename ScaleOf>
void store_rows(const TensorView<const Source, 3>& rows,
                const std::vector<std::int64_t>& slot_mapping,
                const TensorView<Stored, 4>& cache,
                const ScaleOf& scale_of) {
  const std::int64_t block_size = cache.shape[1];
  const std::int64_t num_kv_heads = cache.shape[2];
  const std::int64_t head_size = cache.shape[3];
  for (std::int64_t token_idx = 0; token_idx < rows.shape[0]; ++token_idx) {
    const std::int64_t slot = slot_mapping[static_cast<std::size_t>(token_idx)];
    if (slot == kNoSlot) continue;
    const std::int64_t physical_block = slot / block_size;
    const std::int64_t block_offset = slot % block_size;
    for (std::int64_t kv_head_idx = 0; kv_head_idx < num_kv_heads; ++kv_head_idx) {
      const float scale = scale_of(kv_head_idx);
      const Source* from = rows.row(token_idx, kv_head_idx);
      Stored* to = cache.row(physical_block, block_offset, kv_head_idx);
      for (std::int64_t i = 0; i < head_size; ++i) {
        to[i] = cache_element<Stored>(from[i], scale);
      }
    }
  }
}

// The one switch over the types of the new rows.
template <typename Visitor>
void visit_activation_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFloat64:
      return visitor(double{});
    case DType::kFloat16:
      return visitor(Float16{});
    case DType::kBFloat16:
      return visitor(BFloat16{});
    default:
      return visitor(float{});
  }
}

}  // namespace

void validate_cache_write(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping,
                          const KvCacheSpec& spec) {
  require_rows("key", key, spec.num_kv_heads, spec.head_size);
  require_rows("value", value, spec.num_kv_heads, spec.head_size_v);
  if (key.dtype() != value.dtype()) {
    refuse("key is {}, but value is {}.", to_string(key.dtype()), to_string(value.dtype()));
  }
  const std::int64_t num_tokens = static_cast<std::int64_t>(slot_mapping.size());
  if (key.shape()[0] != num_tokens || value.shape()[0] != num_tokens) {
    refuse("key has {} tokens, value {} and slot_mapping {}; they must agree.", key.shape()[0],
           value.shape()[0], num_tokens);
  }
  require_slots(slot_mapping, spec);
}

void reshape_and_cache(const Tensor& key,
                       const Tensor& value,
                       const std::vector<std::int64_t>& slot_mapping,
                       KvCache& cache) {
  validate_cache_write(key, value, slot_mapping, cache.spec());
  visit_activation_dtype(key.dtype(), [&]<typename Source>(Source) {
    visit_float_dtype(cache.spec().dtype, [&]<typename Stored>(Stored) {
      store_rows(key.view<Source, 3>(), slot_mapping, cache.key_view<Stored>(),
                 [&cache](std::int64_t kv_head_idx) { return cache.k_scale_of(kv_head_idx); });
      store_rows(value.view<Source, 3>(), slot_mapping, cache.value_view<Stored>(),
                 [&cache](std::int64_t kv_head_idx) { return cache.v_scale_of(kv_head_idx); });
    });
  });
}

}  // namespace pagelab
