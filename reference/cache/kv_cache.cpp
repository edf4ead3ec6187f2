#include "reference/cache/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

// Where keys and values lie: everything that a layout means, in one place.
struct Placement {
  KvStrides key;
  KvStrides value;
  std::int64_t value_offset = 0;  // elements from the array's start to the first value
};

KvStrides strides_of(const KvCacheSpec& spec, std::int64_t row_size, std::int64_t block_elements) {
  KvStrides strides;
  strides.block = block_elements;
  if (spec.layout.order == KvOrder::kNHD) {
    strides.head = row_size;
    strides.token = spec.num_kv_heads * row_size;
  } else {
    strides.token = row_size;
    strides.head = spec.block_size * row_size;
  }
  return strides;
}

Placement placement_of(const KvCacheSpec& spec) {
  const std::int64_t rows_per_block = spec.block_size * spec.num_kv_heads;
  const std::int64_t key_elements = rows_per_block * spec.head_size;
  const std::int64_t value_elements = rows_per_block * spec.head_size_v;
  const std::int64_t both = key_elements + value_elements;
  switch (spec.layout.packing) {
    case KvPacking::kOneRow: {
      const std::int64_t row_size = spec.head_size + spec.head_size_v;
      const KvStrides shared = strides_of(spec, row_size, both);
      return {shared, shared, spec.head_size};
    }
    case KvPacking::kInterleavedByBlock:
      return {strides_of(spec, spec.head_size, both), strides_of(spec, spec.head_size_v, both),
              key_elements};
    case KvPacking::kApart:
      break;
  }
  return {strides_of(spec, spec.head_size, key_elements),
          strides_of(spec, spec.head_size_v, value_elements), 0};
}

void require_sound(const KvCacheSpec& spec) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"num_blocks", spec.num_blocks},
                                                        {"block_size", spec.block_size},
                                                        {"num_kv_heads", spec.num_kv_heads},
                                                        {"head_size", spec.head_size},
                                                        {"head_size_v", spec.head_size_v}};
  constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
  for (const auto& [name, size] : sizes) {
    if (size < 0 || size > kMaxSize) {
      refuse("{} of the cache is {}; it must be 0 to {}.", name, size, kMaxSize);
    }
  }
  if (spec.block_size == 0) refuse("block_size of the cache is 0; it must be at least 1.");
  if (!is_activation_dtype(spec.dtype) && !is_fp8(spec.dtype)) {
    throw Error(
        fmt::format("dtype of the cache is {}; it must be a float type.", to_string(spec.dtype)));
  }
  // The product of the sizes must not overflow before Tensor can refuse it.
  std::int64_t room = std::int64_t{1} << 40;
  for (std::int64_t size :
       {spec.num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size + spec.head_size_v}) {
    room /= std::max<std::int64_t>(size, 1);
  }
  if (room == 0) {
    refuse(
        "a cache of {} blocks of {} tokens, {} heads and {} + {} elements "
        "would have more than 2^40 elements.",
        spec.num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size, spec.head_size_v);
  }
}

// The layout's arrays, with axes named as people read them.
std::vector<Tensor> arrays_of(const KvCacheSpec& spec) {
  const auto array = [&spec](std::int64_t row_size) {
    const bool nhd = spec.layout.order == KvOrder::kNHD;
    const std::int64_t outer = nhd ? spec.block_size : spec.num_kv_heads;
    const std::int64_t inner = nhd ? spec.num_kv_heads : spec.block_size;
    return Tensor(spec.dtype, {spec.num_blocks, outer, inner, row_size});
  };
  std::vector<Tensor> arrays;
  switch (spec.layout.packing) {
    case KvPacking::kApart:
      arrays.push_back(array(spec.head_size));
      arrays.push_back(array(spec.head_size_v));
      break;
    case KvPacking::kOneRow:
      arrays.push_back(array(spec.head_size + spec.head_size_v));
      break;
    case KvPacking::kInterleavedByBlock:
      arrays.push_back(Tensor(spec.dtype, {spec.num_blocks, placement_of(spec).key.block}));
      break;
  }
  return arrays;
}

// Calls row(rows_before, offset): the number of rows before this one in the logical order
// [num_blocks, block_size, num_kv_heads], and the element where it starts in the cache.
template <typename Visitor>
void for_each_row(const KvCacheSpec& spec, const KvStrides& strides, Visitor&& row) {
  std::int64_t rows_before = 0;
  for (std::int64_t block = 0; block < spec.num_blocks; ++block) {
    for (std::int64_t token = 0; token < spec.block_size; ++token) {
      for (std::int64_t head = 0; head < spec.num_kv_heads; ++head) {
        row(rows_before, block * strides.block + token * strides.token + head * strides.head);
        ++rows_before;
      }
    }
  }
}

Tensor copy_out(const KvCacheSpec& spec,
                const KvStrides& strides,
                std::int64_t row_size,
                const std::byte* data) {
  Tensor logical(spec.dtype, {spec.num_blocks, spec.block_size, spec.num_kv_heads, row_size});
  if (logical.size() == 0) return logical;
  const std::int64_t element_bytes = bytes_of(spec.dtype);
  const std::int64_t row_bytes = row_size * element_bytes;
  for_each_row(spec, strides, [&](std::int64_t rows_before, std::int64_t offset) {
    std::memcpy(logical.bytes() + rows_before * row_bytes, data + offset * element_bytes,
                static_cast<std::size_t>(row_bytes));
  });
  return logical;
}

void copy_in(const KvCacheSpec& spec,
             const KvStrides& strides,
             const Tensor& logical,
             std::byte* data) {
  if (logical.size() == 0) return;
  const std::int64_t element_bytes = bytes_of(spec.dtype);
  const std::int64_t row_bytes = logical.shape()[3] * element_bytes;
  for_each_row(spec, strides, [&](std::int64_t rows_before, std::int64_t offset) {
    std::memcpy(data + offset * element_bytes, logical.bytes() + rows_before * row_bytes,
                static_cast<std::size_t>(row_bytes));
  });
}

void require_array(const char* name,
                   const Tensor& array,
                   const KvCacheSpec& spec,
                   std::int64_t row_size) {
  const Shape wanted = {spec.num_blocks, spec.block_size, spec.num_kv_heads, row_size};
  if (array.dtype() != spec.dtype || array.shape() != wanted) {
    refuse("{} is {} {}, but the cache holds {} {}.", name, to_string(array.dtype()),
           to_string(array.shape()), to_string(spec.dtype), to_string(wanted));
  }
}

}  // namespace

std::string to_string(KvLayout layout) {
  const char* order = layout.order == KvOrder::kNHD ? "NHD" : "HND";
  switch (layout.packing) {
    case KvPacking::kOneRow:
      return fmt::format("{}, one row", order);
    case KvPacking::kInterleavedByBlock:
      return fmt::format("{}, interleaved by block", order);
    case KvPacking::kApart:
      break;
  }
  return fmt::format("{}, apart", order);
}

std::vector<KvLayout> all_kv_layouts() {
  std::vector<KvLayout> layouts;
  for (KvOrder order : {KvOrder::kNHD, KvOrder::kHND}) {
    for (KvPacking packing :
         {KvPacking::kApart, KvPacking::kOneRow, KvPacking::kInterleavedByBlock}) {
      layouts.push_back({order, packing});
    }
  }
  return layouts;
}

KvCache::KvCache(const KvCacheSpec& spec) : spec_(spec) {
  require_sound(spec);
  arrays_ = arrays_of(spec);
  for (Tensor& array : arrays_) {
    // All bits set is a NaN in all six formats.
    std::fill(array.bytes(), array.bytes() + array.size_in_bytes(), std::byte{0xff});
  }
}

void KvCache::require_dtype(DType wanted) const {
  if (spec_.dtype != wanted) {
    refuse("the cache is {}, but {} was asked for.", to_string(spec_.dtype), to_string(wanted));
  }
}

KvStrides KvCache::key_strides() const { return placement_of(spec_).key; }

KvStrides KvCache::value_strides() const { return placement_of(spec_).value; }

std::byte* KvCache::key_data() { return arrays_.empty() ? nullptr : arrays_.front().bytes(); }

const std::byte* KvCache::key_data() const {
  return arrays_.empty() ? nullptr : arrays_.front().bytes();
}

std::byte* KvCache::value_data() {
  if (arrays_.empty()) return nullptr;
  return arrays_.back().bytes() + placement_of(spec_).value_offset * bytes_of(spec_.dtype);
}

const std::byte* KvCache::value_data() const {
  if (arrays_.empty()) return nullptr;
  return arrays_.back().bytes() + placement_of(spec_).value_offset * bytes_of(spec_.dtype);
}

float KvCache::k_scale_of(std::int64_t kv_head_idx) const {
  return k_scale.size() == 1 ? k_scale[0] : k_scale[static_cast<std::size_t>(kv_head_idx)];
}

float KvCache::v_scale_of(std::int64_t kv_head_idx) const {
  return v_scale.size() == 1 ? v_scale[0] : v_scale[static_cast<std::size_t>(kv_head_idx)];
}

Tensor KvCache::keys() const { return copy_out(spec_, key_strides(), spec_.head_size, key_data()); }

Tensor KvCache::values() const {
  return copy_out(spec_, value_strides(), spec_.head_size_v, value_data());
}

void KvCache::assign(const Tensor& keys, const Tensor& values) {
  require_array("keys", keys, spec_, spec_.head_size);
  require_array("values", values, spec_, spec_.head_size_v);
  copy_in(spec_, key_strides(), keys, key_data());
  copy_in(spec_, value_strides(), values, value_data());
}

KvCache KvCache::with_layout(KvLayout layout) const {
  KvCacheSpec spec = spec_;
  spec.layout = layout;
  KvCache result(spec);
  result.k_scale = k_scale;
  result.v_scale = v_scale;
  result.assign(keys(), values());
  return result;
}

}  // namespace pagelab
