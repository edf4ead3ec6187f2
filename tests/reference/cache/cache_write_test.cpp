#include "reference/cache/cache_write.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/cache/block_table.h"
#include "reference/cache/cache_element.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

constexpr DType kActivations[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                  DType::kBFloat16};
constexpr DType kFloats[] = {DType::kFloat64,  DType::kFloat32, DType::kFloat16,
                             DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What one number becomes on its way through an fp8 cache of this scale: stored, as a number.
template <typename Fp8>
double stored_as(double x, float scale = 1.0f) {
  return load_as<double>(cache_element<Fp8>(x, scale));
}

// Every value of an fp8 format, from its definition: sign, exponent of bias `bias`, and `digits`
// mantissa bits.
double value_by_definition(int code, int exponent_bits, int digits, int bias) {
  const int sign = code >> 7;
  const int exponent = (code >> digits) & ((1 << exponent_bits) - 1);
  const int mantissa = code & ((1 << digits) - 1);
  const double fraction = mantissa / std::exp2(digits);
  const double magnitude =
      exponent == 0 ? std::exp2(1 - bias) * fraction : std::exp2(exponent - bias) * (1 + fraction);
  return sign == 1 ? -magnitude : magnitude;
}

KvCacheSpec small_spec(DType dtype) {
  KvCacheSpec spec;
  spec.num_blocks = 5;
  spec.block_size = 3;
  spec.num_kv_heads = 2;
  spec.head_size = 7;
  spec.head_size_v = 4;
  spec.dtype = dtype;
  return spec;
}

Tensor random_rows(DType dtype, const Shape& shape, test::Random& random) {
  Tensor rows(DType::kFloat64, shape);
  for (std::int64_t index = 0; index < rows.size(); ++index) {
    rows.data<double>()[index] = random.real(-3.0, 3.0);
  }
  return convert(rows, dtype);
}

// The distance from x to the nearest number of a cache's dtype must be that to what was stored.
double ulp_of(DType dtype, double x) {
  const int digits = dtype == DType::kFloat64    ? 52
                     : dtype == DType::kFloat32  ? 23
                     : dtype == DType::kFloat16  ? 10
                     : dtype == DType::kBFloat16 ? 7
                     : dtype == DType::kFp8E4M3  ? 3
                                                 : 2;
  const int smallest_exponent = dtype == DType::kFp8E4M3 ? -6 : -14;
  const int exponent = x == 0 ? smallest_exponent : std::max(std::ilogb(x), smallest_exponent);
  return std::exp2(exponent - digits);
}

}  // namespace

TEST_SUITE("cache write") {
  TEST_CASE("R11: stores saturate and keep NaN in e4m3") {
    CHECK(stored_as<Fp8E4M3>(448) == 448);
    CHECK(stored_as<Fp8E4M3>(464) == 448);
    CHECK(stored_as<Fp8E4M3>(465) == 448);
    CHECK(stored_as<Fp8E4M3>(1000) == 448);
    CHECK(stored_as<Fp8E4M3>(-1000) == -448);
    CHECK(stored_as<Fp8E4M3>(kInfinity) == 448);
    CHECK(std::isnan(stored_as<Fp8E4M3>(std::nan(""))));
    CHECK(cache_element<Fp8E4M3>(float(std::nan("")), 1.0f).bits == 0x7f);
    CHECK(stored_as<Fp8E5M2>(1e5) == 57344);
    CHECK(stored_as<Fp8E5M2>(kInfinity) == 57344);
    CHECK(std::isnan(stored_as<Fp8E5M2>(std::nan(""))));
  }

  TEST_CASE("R11: all 256 codes of both fp8 formats come back as themselves") {
    for (int code = 0; code < 256; ++code) {
      CAPTURE(code);
      const Fp8E4M3 e4m3{static_cast<std::uint8_t>(code)};
      const double e4m3_value = cache_value<double>(e4m3, 1.0f);
      if ((code & 0x7f) == 0x7f) {
        CHECK(std::isnan(e4m3_value));
      } else {
        CHECK(e4m3_value == value_by_definition(code, 4, 3, 7));
        CHECK(cache_element<Fp8E4M3>(e4m3_value, 1.0f).bits == code);
        CHECK(cache_element<Fp8E4M3>(static_cast<float>(e4m3_value), 1.0f).bits == code);
      }
      const Fp8E5M2 e5m2{static_cast<std::uint8_t>(code)};
      const double e5m2_value = cache_value<double>(e5m2, 1.0f);
      if ((code & 0x7f) > 0x7c) {
        CHECK(std::isnan(e5m2_value));
      } else if ((code & 0x7f) == 0x7c) {
        CHECK(e5m2_value == (code == 0x7c ? kInfinity : -kInfinity));
      } else {
        CHECK(e5m2_value == value_by_definition(code, 5, 2, 15));
        CHECK(cache_element<Fp8E5M2>(e5m2_value, 1.0f).bits == code);
      }
    }
  }

  TEST_CASE("rounding to fp8 is to nearest with ties to even") {
    // spec: x → e4m3, e5m2
    const double cases[][3] = {{0.1, 0.1015625, 0.09375},
                               {0.3, 0.3125, 0.3125},
                               {17, 16, 16},
                               {19, 20, 20},
                               {464, 448, 448},
                               {500, 448, 512},
                               {0x1p-10, 0, 0x1p-10},
                               {0x1.8p-10, 0x1p-9, 0x1.8p-10},
                               {1e5, 448, 57344}};
    for (const auto& [x, e4m3, e5m2] : cases) {
      CAPTURE(x);
      CHECK(stored_as<Fp8E4M3>(x) == e4m3);
      CHECK(stored_as<Fp8E5M2>(x) == e5m2);
      CHECK(stored_as<Fp8E4M3>(-x) == -e4m3);
      CHECK(stored_as<Fp8E5M2>(-x) == -e5m2);
    }
  }

  TEST_CASE("x is divided by the scale in the precision of its dtype and not by a reciprocal") {
    // 17 lies between the e4m3 numbers 16 and 18, and a tie goes to 16. In float32, 0.255 / 0.015
    // is 17, but 0.255 · (1 / 0.015) is 17.000002.
    const float scale = 0.015f;
    const float x = 17.0f * scale;
    CHECK(decode(cache_element<Fp8E4M3>(x, scale)) == 16.0f);
    // A little more than 17 in float64, 17 in float32.
    const double wide = 17.0 * (1.0 + 0x1p-40);
    CHECK(decode(cache_element<Fp8E4M3>(wide, 1.0f)) == 18.0f);
    CHECK(decode(cache_element<Fp8E4M3>(static_cast<float>(wide), 1.0f)) == 16.0f);
  }

  TEST_CASE("an fp8 cache holds x divided by the scale of its head") {
    KvCache cache(small_spec(DType::kFp8E4M3));
    cache.k_scale = {0.5f, 2.0f};
    cache.v_scale = {0.25f};
    Tensor key(DType::kBFloat16, {1, 2, 7});
    Tensor value(DType::kBFloat16, {1, 2, 4});
    for (std::int64_t index = 0; index < key.size(); ++index) {
      key.data<BFloat16>()[index] = store_as<BFloat16>(3.0);
    }
    for (std::int64_t index = 0; index < value.size(); ++index) {
      value.data<BFloat16>()[index] = store_as<BFloat16>(200.0);
    }
    reshape_and_cache(key, value, {4}, cache);
    const TensorView<const Fp8E4M3, 4> keys =
        static_cast<const KvCache&>(cache).key_view<Fp8E4M3>();
    const TensorView<const Fp8E4M3, 4> values =
        static_cast<const KvCache&>(cache).value_view<Fp8E4M3>();
    CHECK(decode(keys(1, 1, 0, 6)) == 6.0f);      // 3 / 0.5
    CHECK(decode(keys(1, 1, 1, 0)) == 1.5f);      // 3 / 2
    CHECK(decode(values(1, 1, 1, 3)) == 448.0f);  // 200 / 0.25 = 800
  }

  TEST_CASE("every dtype is stored in every cache within half an ulp and in its slot alone") {
    constexpr std::uint64_t kSeed = 7;
    test::Random random(kSeed);
    const std::vector<std::int64_t> slot_mapping = {11, kNoSlot, 3, 0};
    for (DType source : kActivations) {
      for (DType stored : kFloats) {
        for (KvLayout layout : all_kv_layouts()) {
          CAPTURE(to_string(source));
          CAPTURE(to_string(stored));
          CAPTURE(to_string(layout));
          KvCacheSpec spec = small_spec(stored);
          spec.layout = layout;
          KvCache cache(spec);
          const Tensor key = random_rows(source, {4, 2, 7}, random);
          const Tensor value = random_rows(source, {4, 2, 4}, random);
          reshape_and_cache(key, value, slot_mapping, cache);

          const auto check_side = [&](const Tensor& rows, const Tensor& held, std::int64_t size) {
            const std::int64_t row_size = 2 * size;
            for (std::int64_t slot = 0; slot < 15; ++slot) {
              const auto token = std::find(slot_mapping.begin(), slot_mapping.end(), slot);
              for (std::int64_t element = 0; element < row_size; ++element) {
                const double got = held.value(slot * row_size + element);
                if (token == slot_mapping.end()) {
                  REQUIRE(std::isnan(got));
                  continue;
                }
                const double x = rows.value((token - slot_mapping.begin()) * row_size + element);
                const double error = std::abs(got - x);
                const double half_ulp = 0.5 * ulp_of(stored, x);
                REQUIRE(!(error > half_ulp));
              }
            }
          };
          check_side(key, cache.keys(), 7);
          check_side(value, cache.values(), 4);
        }
      }
    }
  }

  TEST_CASE("the same dtype is copied bit for bit and a NaN keeps its payload") {
    KvCache cache(small_spec(DType::kFloat32));
    Tensor key(DType::kFloat32, {1, 2, 7});
    const Tensor value(DType::kFloat32, {1, 2, 4});
    const std::uint32_t payload = 0xffc12345u;
    std::memcpy(key.bytes(), &payload, sizeof payload);
    reshape_and_cache(key, value, {0}, cache);
    std::uint32_t held = 0;
    std::memcpy(&held, cache.key_data(), sizeof held);
    CHECK(held == payload);
  }

  TEST_CASE("a NaN that changes its dtype becomes the one that the GPU writes") {
    const float negative_nan = float_from_bits(0xffc12345u);
    CHECK(bits_of(cache_element<double>(negative_nan, 1.0f)) == 0x7fffffffffffffffull);
    CHECK(bits_of(cache_element<float>(static_cast<double>(negative_nan), 1.0f)) == 0x7fffffffu);
    CHECK(cache_element<BFloat16>(negative_nan, 1.0f).bits == 0x7fff);
  }

  TEST_CASE("what does not fit the cache is refused and nothing is stored") {
    KvCache cache(small_spec(DType::kFloat32));
    const Tensor key(DType::kFloat32, {2, 2, 7});
    const Tensor value(DType::kFloat32, {2, 2, 4});
    CHECK_THROWS_WITH_AS(reshape_and_cache(value, value, {0, 1}, cache),
                         "key has shape [2, 2, 4], but the cache takes [T, 2, 7].", Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, key, {0, 1}, cache),
                         "value has shape [2, 2, 7], but the cache takes [T, 2, 4].", Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, value, {0}, cache),
                         "key has 2 tokens, value 2 and slot_mapping 1; they must agree.", Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, value, {0, 15}, cache),
                         "slot_mapping[1] is 15, but the cache has slots 0 to 14 (5 blocks of 3 "
                         "tokens); -1 stores nothing.",
                         Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, value, {-2, 1}, cache),
                         "slot_mapping[0] is -2, but the cache has slots 0 to 14 (5 blocks of 3 "
                         "tokens); -1 stores nothing.",
                         Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, value, {4, 4}, cache),
                         "slot_mapping holds slot 4 twice: one token would overwrite another.",
                         Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(key, convert(value, DType::kFloat16), {0, 1}, cache),
                         "key is float32, but value is float16.", Error);
    CHECK_THROWS_WITH_AS(reshape_and_cache(Tensor(DType::kInt32, {2, 2, 7}), value, {0, 1}, cache),
                         "key is int32; it must be float64, float32, float16 or bfloat16.", Error);
    CHECK(std::isnan(cache.keys().value(0)));
  }
}
