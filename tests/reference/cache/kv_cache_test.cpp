#include "reference/cache/kv_cache.h"

#include <doctest/doctest.h>

#include <cmath>

#include "reference/cache/cache_element.h"

using namespace pagelab;

namespace {

constexpr DType kFloats[] = {DType::kFloat64,  DType::kFloat32, DType::kFloat16,
                             DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2};

// No size is a multiple of another.
KvCacheSpec odd_spec(DType dtype, KvLayout layout) {
  KvCacheSpec spec;
  spec.num_blocks = 7;
  spec.block_size = 3;
  spec.num_kv_heads = 2;
  spec.head_size = 5;
  spec.head_size_v = 11;
  spec.dtype = dtype;
  spec.layout = layout;
  return spec;
}

// 0, 1, 2, … in the logical order; exact in float32.
Tensor counted(const Shape& shape, float first) {
  Tensor tensor(DType::kFloat32, shape);
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    tensor.data<float>()[index] = first + static_cast<float>(index);
  }
  return tensor;
}

}  // namespace

TEST_SUITE("KV cache") {
  TEST_CASE("every slot of a new cache is NaN in every dtype and layout") {
    for (DType dtype : kFloats) {
      for (KvLayout layout : all_kv_layouts()) {
        CAPTURE(to_string(dtype));
        CAPTURE(to_string(layout));
        const KvCache cache(odd_spec(dtype, layout));
        for (const Tensor& array : {cache.keys(), cache.values()}) {
          for (std::int64_t index = 0; index < array.size(); ++index) {
            REQUIRE(std::isnan(array.value(index)));
          }
        }
      }
    }
  }

  TEST_CASE("keys and values are apart in every layout and survive a change of it") {
    const Tensor keys = counted({7, 3, 2, 5}, 0.0f);
    const Tensor values = counted({7, 3, 2, 11}, 1000.0f);
    for (KvLayout layout : all_kv_layouts()) {
      CAPTURE(to_string(layout));
      KvCache cache(odd_spec(DType::kFloat32, layout));
      cache.assign(keys, values);
      CHECK(identical(cache.keys(), keys));
      CHECK(identical(cache.values(), values));
      for (KvLayout other : all_kv_layouts()) {
        const KvCache moved = cache.with_layout(other);
        CHECK(moved.spec().layout == other);
        CHECK(identical(moved.keys(), keys));
        CHECK(identical(moved.values(), values));
      }
    }
  }

  TEST_CASE("an element lies where its layout says") {
    // Block 4, token 2, head 1, key element 3 and value element 9.
    const auto key_index = [](const KvCache& cache) {
      return &cache.key_view<float>()(4, 2, 1, 3) -
             reinterpret_cast<const float*>(cache.arrays().front().bytes());
    };
    const auto value_index = [](const KvCache& cache) {
      return &cache.value_view<float>()(4, 2, 1, 9) -
             reinterpret_cast<const float*>(cache.arrays().back().bytes());
    };
    const auto cache_with = [](KvOrder order, KvPacking packing) {
      return KvCache(odd_spec(DType::kFloat32, {order, packing}));
    };
    // [7, 3, 2, 5] and [7, 3, 2, 11]
    const KvCache nhd_apart = cache_with(KvOrder::kNHD, KvPacking::kApart);
    CHECK(key_index(nhd_apart) == ((4 * 3 + 2) * 2 + 1) * 5 + 3);
    CHECK(value_index(nhd_apart) == ((4 * 3 + 2) * 2 + 1) * 11 + 9);
    // [7, 2, 3, 5] and [7, 2, 3, 11]
    const KvCache hnd_apart = cache_with(KvOrder::kHND, KvPacking::kApart);
    CHECK(key_index(hnd_apart) == ((4 * 2 + 1) * 3 + 2) * 5 + 3);
    CHECK(value_index(hnd_apart) == ((4 * 2 + 1) * 3 + 2) * 11 + 9);
    // [7, 3, 2, 5 + 11]
    const KvCache nhd_row = cache_with(KvOrder::kNHD, KvPacking::kOneRow);
    CHECK(key_index(nhd_row) == ((4 * 3 + 2) * 2 + 1) * 16 + 3);
    CHECK(value_index(nhd_row) == ((4 * 3 + 2) * 2 + 1) * 16 + 5 + 9);
    // [7, 2, 3, 5 + 11]
    const KvCache hnd_row = cache_with(KvOrder::kHND, KvPacking::kOneRow);
    CHECK(key_index(hnd_row) == ((4 * 2 + 1) * 3 + 2) * 16 + 3);
    CHECK(value_index(hnd_row) == ((4 * 2 + 1) * 3 + 2) * 16 + 5 + 9);
    // a block: 30 key elements, then 66 value elements
    const KvCache nhd_block = cache_with(KvOrder::kNHD, KvPacking::kInterleavedByBlock);
    CHECK(key_index(nhd_block) == 4 * 96 + (2 * 2 + 1) * 5 + 3);
    CHECK(value_index(nhd_block) == 4 * 96 + 30 + (2 * 2 + 1) * 11 + 9);
    const KvCache hnd_block = cache_with(KvOrder::kHND, KvPacking::kInterleavedByBlock);
    CHECK(key_index(hnd_block) == 4 * 96 + (1 * 3 + 2) * 5 + 3);
    CHECK(value_index(hnd_block) == 4 * 96 + 30 + (1 * 3 + 2) * 11 + 9);
  }

  TEST_CASE("K13: keys interleaved with values by block are a whole pair of blocks apart") {
    KvCacheSpec spec;
    spec.num_blocks = 4;
    spec.block_size = 2;
    spec.num_kv_heads = 1;
    spec.head_size = 2;
    spec.head_size_v = 2;
    spec.layout = {KvOrder::kNHD, KvPacking::kInterleavedByBlock};
    CHECK(KvCache(spec).key_strides().block == 8);
    CHECK(KvCache(spec).value_strides().block == 8);
    spec.layout.packing = KvPacking::kApart;
    CHECK(KvCache(spec).key_strides().block == 4);
  }

  TEST_CASE("a scale belongs to one head or to all") {
    KvCache cache(odd_spec(DType::kFp8E4M3, {}));
    cache.k_scale = {0.5f};
    cache.v_scale = {0.25f, 4.0f};
    CHECK(cache.k_scale_of(1) == 0.5f);
    CHECK(cache.v_scale_of(0) == 0.25f);
    CHECK(cache.v_scale_of(1) == 4.0f);
    const KvCache moved = cache.with_layout({KvOrder::kHND, KvPacking::kOneRow});
    CHECK(moved.v_scale == cache.v_scale);
  }

  TEST_CASE("a cache of impossible sizes is refused in a sentence") {
    KvCacheSpec spec = odd_spec(DType::kFloat32, {});
    spec.num_blocks = -1;
    CHECK_THROWS_WITH_AS(KvCache{spec},
                         "num_blocks of the cache is -1; it must be 0 to 2147483647.", Error);
    spec = odd_spec(DType::kFloat32, {});
    spec.block_size = 0;
    CHECK_THROWS_WITH_AS(KvCache{spec}, "block_size of the cache is 0; it must be at least 1.",
                         Error);
    spec = odd_spec(DType::kInt32, {});
    CHECK_THROWS_WITH_AS(KvCache{spec}, "dtype of the cache is int32; it must be a float type.",
                         Error);
    spec = odd_spec(DType::kFloat32, {KvOrder::kNHD, KvPacking::kInterleavedByBlock});
    spec.num_blocks = spec.block_size = spec.num_kv_heads = 2147483647;
    CHECK_THROWS_AS(KvCache{spec}, Error);
  }

  TEST_CASE("arrays of another shape or dtype do not fit a cache") {
    KvCache cache(odd_spec(DType::kFloat32, {}));
    const Tensor keys(DType::kFloat32, {7, 3, 2, 5});
    CHECK_THROWS_WITH_AS(
        cache.assign(keys, Tensor(DType::kFloat32, {7, 3, 2, 5})),
        "values is float32 [7, 3, 2, 5], but the cache holds float32 [7, 3, 2, 11].", Error);
    CHECK_THROWS_WITH_AS(
        cache.assign(Tensor(DType::kFloat64, {7, 3, 2, 5}), Tensor(DType::kFloat32, {7, 3, 2, 11})),
        "keys is float64 [7, 3, 2, 5], but the cache holds float32 [7, 3, 2, 5].", Error);
    CHECK_THROWS_WITH_AS(cache.key_view<double>(),
                         "the cache is float32, but float64 was asked for.", Error);
  }
}
