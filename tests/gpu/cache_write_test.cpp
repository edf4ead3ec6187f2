// The cache-write kernel against the reference's cache write: the same bytes, for every pair of
// dtypes, in every layout.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/backends/naive.h"
#include "reference/cache/block_table.h"
#include "reference/cache/cache_write.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr DType kActivations[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                  DType::kBFloat16};
constexpr DType kStored[] = {DType::kFloat64,  DType::kFloat32, DType::kFloat16,
                             DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2};

KvCacheSpec spec_of(DType dtype, KvLayout layout) {
  return {.num_blocks = 7,
          .block_size = 3,
          .num_kv_heads = 2,
          .head_size = 10,
          .head_size_v = 6,
          .dtype = dtype,
          .layout = layout};
}

// Ordinary numbers, with every kind of extraordinary one among them.
Tensor rows_of(DType dtype, const Shape& shape, Random& random) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double extraordinary[] = {0.0,   -0.0,  infinity, -infinity, std::nan(""), 448.0,  464.0,
                                  465.0, -1e30, 1e300,    1e-7,      -1e-40,       5e-320, 57344.0,
                                  6e4,   65504, 65520,    3.4e38,    1e39,         0x1p-24};
  Tensor rows(DType::kFloat64, shape);
  for (std::int64_t index = 0; index < rows.size(); ++index) {
    const std::int64_t which = random.whole(0, 99);
    const std::int64_t num_extraordinary = static_cast<std::int64_t>(std::size(extraordinary));
    rows.data<double>()[index] =
        which < num_extraordinary ? extraordinary[which] : random.real(-9.0, 9.0);
  }
  return convert(rows, dtype);
}

void check_write(const Tensor& key,
                 const Tensor& value,
                 const std::vector<std::int64_t>& slots,
                 const KvCache& before,
                 const std::shared_ptr<Device>& device) {
  KvCache expected = before;
  reshape_and_cache(key, value, slots, expected);
  const auto impl = make_naive_backend(device)->make_impl(before);
  impl->do_kv_cache_update(key, value, slots);
  const KvCache got = impl->kv_cache();
  REQUIRE(got.arrays().size() == expected.arrays().size());
  for (std::size_t index = 0; index < expected.arrays().size(); ++index) {
    check_identical("cache array", got.arrays()[index], expected.arrays()[index]);
  }
}

void check_every_pair(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  Random random(29);
  for (DType source : kActivations) {
    for (DType stored : kStored) {
      for (KvLayout layout : all_kv_layouts()) {
        CAPTURE(to_string(source));
        CAPTURE(to_string(stored));
        CAPTURE(to_string(layout));
        KvCache cache(spec_of(stored, layout));
        if (is_fp8(stored)) {
          cache.k_scale = {0.37f, 2.5f};
          cache.v_scale = {0.06f};
        }
        // Twelve tokens at shuffled slots of 21, two of them not stored.
        std::vector<std::int64_t> slots;
        for (std::int32_t slot : random.permutation(21)) slots.push_back(slot);
        slots.resize(12);
        slots[4] = kNoSlot;
        slots[11] = kNoSlot;
        const Tensor key = rows_of(source, {12, 2, 10}, random);
        const Tensor value = rows_of(source, {12, 2, 6}, random);
        check_write(key, value, slots, cache, device);
      }
    }
  }
}

// Every bit pattern of float16 and bfloat16, into every format.
void check_every_source_code(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (DType source : {DType::kFloat16, DType::kBFloat16}) {
    Tensor codes(DType::kUInt16, {64, 4, 256});
    for (std::int64_t code = 0; code < 65536; ++code) {
      codes.data<std::uint16_t>()[code] = static_cast<std::uint16_t>(code);
    }
    const Tensor rows = codes.reinterpreted_as(source);
    std::vector<std::int64_t> slots;
    for (std::int32_t slot : Random(3).permutation(64)) slots.push_back(slot);
    for (DType stored : kStored) {
      CAPTURE(to_string(source));
      CAPTURE(to_string(stored));
      KvCache cache({.num_blocks = 4,
                     .block_size = 16,
                     .num_kv_heads = 4,
                     .head_size = 256,
                     .head_size_v = 256,
                     .dtype = stored,
                     .layout = {}});
      if (is_fp8(stored)) cache.k_scale = {0.011f, 1.0f, 3.7f, 91.0f};
      check_write(rows, rows, slots, cache, device);
    }
  }
}

// R11, with the values of the trap: what an fp8 cache holds, as numbers.
void check_saturation(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor rows = Tensor::from_values<float>(
      {1, 1, 7}, {448.0f, 464.0f, 465.0f, 1000.0f, -1000.0f, infinity, std::nanf("")});
  const KvCache cache({.num_blocks = 1,
                       .block_size = 1,
                       .num_kv_heads = 1,
                       .head_size = 7,
                       .head_size_v = 7,
                       .dtype = DType::kFp8E4M3,
                       .layout = {}});
  const auto impl = make_naive_backend(device)->make_impl(cache);
  impl->do_kv_cache_update(rows, rows, {0});
  const Tensor stored = impl->kv_cache().keys();
  const double expected[] = {448, 448, 448, 448, -448, 448};
  for (std::int64_t index = 0; index < 6; ++index) CHECK(stored.value(index) == expected[index]);
  CHECK(std::isnan(stored.value(6)));
}

}  // namespace

TEST_SUITE("cache write kernel") {
  TEST_CASE("every pair of dtypes in every layout is stored as the reference does (simulators)") {
    for (const auto& device : simulators()) check_every_pair(device);
  }
  TEST_CASE("every pair of dtypes in every layout is stored as the reference does (GPU)") {
    if (const auto device = gpu_or_skip()) check_every_pair(device);
  }

  TEST_CASE("every float16 and bfloat16 number is rounded as the reference does (simulators)") {
    for (const auto& device : simulators()) check_every_source_code(device);
  }
  TEST_CASE("every float16 and bfloat16 number is rounded as the reference does (GPU)") {
    if (const auto device = gpu_or_skip()) check_every_source_code(device);
  }

  TEST_CASE("R11: e4m3 stores saturate at 448 and keep NaN (simulators)") {
    for (const auto& device : simulators()) check_saturation(device);
  }
  TEST_CASE("R11: e4m3 stores saturate at 448 and keep NaN (GPU)") {
    if (const auto device = gpu_or_skip()) check_saturation(device);
  }
}
