#include "reference/cache/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reference/cache/cache_element.h"
#include "reference/cache/cache_write.h"
#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

void require_blocks(std::span<const std::int32_t> row,
                    std::int64_t num_tokens,
                    const KvCacheSpec& spec) {
  if (num_tokens < 0) refuse("num_tokens is {}; it must be at least 0.", num_tokens);
  if (num_tokens == 0) return;
  if (spec.block_size == 0) refuse("the cache has no blocks.");
  const std::int64_t needed = blocks_for_tokens(num_tokens, spec.block_size);
  if (needed > static_cast<std::int64_t>(row.size())) {
    refuse("{} tokens need {} blocks of {}, but the row has {}.", num_tokens, needed,
           spec.block_size, row.size());
  }
  for (std::int64_t logical_block = 0; logical_block < needed; ++logical_block) {
    const std::int64_t physical_block = row[static_cast<std::size_t>(logical_block)];
    if (physical_block < 0 || physical_block >= spec.num_blocks) {
      refuse("logical block {} of the row is {}, but the cache has {} blocks.", logical_block,
             physical_block, spec.num_blocks);
    }
  }
}

// One row of a head, as another type. Where nothing changes, the bits are copied.
template <typename As, typename Stored>
void convert_row(const Stored* from, std::int64_t size, float scale, As* to) {
  if constexpr (kIsSame<As, Stored>) {
    std::copy(from, from + size, to);
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      to[i] = store_as<As>(cache_value<double>(from[i], scale));  // the product is exact in double
    }
  }
}

template <typename As, typename Stored>
void gather_rows(const TensorView<const Stored, 4>& cache,
                 std::span<const std::int32_t> row,
                 const std::vector<float>& scales,
                 const TensorView<As, 3>& gathered) {
  const std::int64_t block_size = cache.shape[1];
  const std::int64_t num_kv_heads = cache.shape[2];
  const std::int64_t head_size = cache.shape[3];
  for (std::int64_t position = 0; position < gathered.shape[0]; ++position) {
    const std::int64_t physical_block = row[static_cast<std::size_t>(position / block_size)];
    const std::int64_t block_offset = position % block_size;
    for (std::int64_t kv_head_idx = 0; kv_head_idx < num_kv_heads; ++kv_head_idx) {
      const float scale = scales[static_cast<std::size_t>(scales.size() == 1 ? 0 : kv_head_idx)];
      convert_row(cache.row(physical_block, block_offset, kv_head_idx), head_size, scale,
                  gathered.row(position, kv_head_idx));
    }
  }
}

// Makes the result and fills it by `gather(cache element, result element)`.
template <typename Gather>
Tensor gathered_as(DType as, const Shape& shape, DType stored, Gather&& gather) {
  if (!is_activation_dtype(as)) {
    throw Error(
        fmt::format("a cache cannot be gathered as {}; take float64, float32, float16 or "
                    "bfloat16.",
                    to_string(as)));
  }
  Tensor gathered(as, shape);
  if (gathered.size() == 0) return gathered;
  visit_float_dtype(as, [&]<typename As>(As) {
    visit_float_dtype(stored,
                      [&]<typename Stored>(Stored) { gather(gathered.view<As, 3>(), Stored{}); });
  });
  return gathered;
}

}  // namespace

Tensor gather_keys(const KvCache& cache,
                   std::span<const std::int32_t> block_table_row,
                   std::int64_t num_tokens,
                   DType as) {
  const KvCacheSpec& spec = cache.spec();
  require_blocks(block_table_row, num_tokens, spec);
  return gathered_as(as, {num_tokens, spec.num_kv_heads, spec.head_size}, spec.dtype,
                     [&]<typename As, typename Stored>(TensorView<As, 3> gathered, Stored) {
                       gather_rows(cache.key_view<Stored>(), block_table_row, cache.k_scale,
                                   gathered);
                     });
}

Tensor gather_values(const KvCache& cache,
                     std::span<const std::int32_t> block_table_row,
                     std::int64_t num_tokens,
                     DType as) {
  const KvCacheSpec& spec = cache.spec();
  require_blocks(block_table_row, num_tokens, spec);
  return gathered_as(as, {num_tokens, spec.num_kv_heads, spec.head_size_v}, spec.dtype,
                     [&]<typename As, typename Stored>(TensorView<As, 3> gathered, Stored) {
                       gather_rows(cache.value_view<Stored>(), block_table_row, cache.v_scale,
                                   gathered);
                     });
}

void fill_paged_cache(const Tensor& key,
                      const Tensor& value,
                      std::span<const std::int32_t> block_table_row,
                      KvCache& cache) {
  const std::int64_t num_tokens = key.rank() == 0 ? 0 : key.shape()[0];
  require_blocks(block_table_row, num_tokens, cache.spec());
  std::vector<std::int64_t> slots;
  for (std::int64_t position = 0; position < num_tokens; ++position) {
    slots.push_back(slot_of(block_table_row, position, cache.spec().block_size));
  }
  reshape_and_cache(key, value, slots, cache);
}

}  // namespace pagelab
