/// \file
/// The KV cache of one layer: blocks of `block_size` tokens, each token with a key and a value for
/// every KV head. Where the bytes lie is a layout; everyone reads and writes through strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/tensor/tensor.h"

namespace pagelab {

/// Which of token and head is the outer axis inside a block. vLLM: NHD = LBNHC, HND = LBHNC.
enum class KvOrder : std::uint8_t {
  kNHD,  ///< [block, token, head, element]
  kHND,  ///< [block, head, token, element]
};

/// How keys and values share memory.
enum class KvPacking : std::uint8_t {
  kApart,               ///< two arrays: [num_blocks, …, D] and [num_blocks, …, Dv]
  kOneRow,              ///< one array, K then V in each row: [num_blocks, …, D + Dv] (vLLM 0.32)
  kInterleavedByBlock,  ///< one array, a block's keys before its values: [num_blocks, 2 · …]
};

/// A physical arrangement of the cache.
struct KvLayout {
  KvOrder order = KvOrder::kNHD;          ///< order of token and head
  KvPacking packing = KvPacking::kApart;  ///< where V lies relative to K
  friend bool operator==(const KvLayout&, const KvLayout&) = default;  ///< member by member
};

/// "NHD, apart", "HND, one row", ...
std::string to_string(KvLayout layout);

/// Every arrangement: two orders times three packings.
std::vector<KvLayout> all_kv_layouts();

/// Sizes and element type of a layer's cache.
struct KvCacheSpec {
  std::int64_t num_blocks = 0;    ///< physical blocks
  std::int64_t block_size = 0;    ///< tokens a block, at least 1
  std::int64_t num_kv_heads = 0;  ///< KV heads
  std::int64_t head_size = 0;     ///< elements of a key, D
  std::int64_t head_size_v = 0;   ///< elements of a value, Dv (usually D)
  DType dtype = DType::kFloat32;  ///< stored element type
  KvLayout layout = {};           ///< physical arrangement
};

/// Distances from one index to the next, in elements. Elements of a row are always adjacent.
struct KvStrides {
  std::int64_t block = 0;  ///< from one block to the next
  std::int64_t token = 0;  ///< from one token of a block to the next
  std::int64_t head = 0;   ///< from one KV head to the next
};

/// A layer's cache, owning its memory. Move or copy it like any value.
class KvCache {
 public:
  KvCache() = default;

  /// A cache whose every slot is poisoned: NaN in each format, so that a read of a slot that nobody
  /// wrote shows.
  /// \throws Error  if a size is negative, block_size is 0, or the dtype is not a float
  explicit KvCache(const KvCacheSpec& spec);

  const KvCacheSpec& spec() const { return spec_; }  ///< sizes and type
  KvStrides key_strides() const;                     ///< distances between keys
  KvStrides value_strides() const;                   ///< distances between values

  std::byte* key_data();                ///< first key
  const std::byte* key_data() const;    ///< first key
  std::byte* value_data();              ///< first value; inside the keys' array unless kApart
  const std::byte* value_data() const;  ///< first value; inside the keys' array unless kApart

  /// The arrays as they lie in memory: one, or two (keys, values) when they are apart.
  std::vector<Tensor>& arrays() { return arrays_; }
  /// \copydoc arrays
  const std::vector<Tensor>& arrays() const { return arrays_; }

  /// The keys, through strides: [num_blocks, block_size, num_kv_heads, head_size].
  /// \tparam Stored  the cache's element type
  /// \throws Error   if it is another one
  template <typename Stored>
  TensorView<const Stored, 4> key_view() const {
    return view_of<const Stored>(key_data(), spec_.head_size, key_strides());
  }
  /// \copydoc key_view
  template <typename Stored>
  TensorView<Stored, 4> key_view() {
    return view_of<Stored>(key_data(), spec_.head_size, key_strides());
  }
  /// The values, through strides: [num_blocks, block_size, num_kv_heads, head_size_v].
  /// \tparam Stored  the cache's element type
  /// \throws Error   if it is another one
  template <typename Stored>
  TensorView<const Stored, 4> value_view() const {
    return view_of<const Stored>(value_data(), spec_.head_size_v, value_strides());
  }
  /// \copydoc value_view
  template <typename Stored>
  TensorView<Stored, 4> value_view() {
    return view_of<Stored>(value_data(), spec_.head_size_v, value_strides());
  }

  /// Dequantisation factors: a stored fp8 code times the factor is the key. One element, or one a
  /// KV head. Always 1 for caches that are not fp8. \source  vLLM
  /// model_executor/layers/quantization/kv_cache.py
  std::vector<float> k_scale = {1.0f};
  /// \copydoc k_scale
  std::vector<float> v_scale = {1.0f};

  /// The factor of one head's keys.
  float k_scale_of(std::int64_t kv_head_idx) const;
  /// The factor of one head's values.
  float v_scale_of(std::int64_t kv_head_idx) const;

  /// The stored keys (or values), in the logical order [num_blocks, block_size, num_kv_heads,
  /// size]: what step folders hold.
  Tensor keys() const;
  /// \copydoc keys
  Tensor values() const;
  /// Overwrites all keys and values from arrays in the logical order.
  /// \throws Error  if a shape or dtype differs from the cache's
  void assign(const Tensor& keys, const Tensor& values);

  /// The same contents in another arrangement.
  KvCache with_layout(KvLayout layout) const;

 private:
  template <typename Stored, typename Bytes>
  TensorView<Stored, 4> view_of(Bytes* data,
                                std::int64_t row_size,
                                const KvStrides& strides) const {
    require_dtype(DTypeOf<std::remove_const_t<Stored>>::kValue);
    return {reinterpret_cast<Stored*>(data),
            {spec_.num_blocks, spec_.block_size, spec_.num_kv_heads, row_size},
            {strides.block, strides.token, strides.head, 1}};
  }
  void require_dtype(DType wanted) const;

  KvCacheSpec spec_;
  std::vector<Tensor> arrays_;
};

}  // namespace pagelab
