// S8 for the real kernels: handed parameters as a faulty backend would pass them, the checked
// simulator says which array was overrun, where and by which thread, for every element type.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "tests/support/source_place.h"

using namespace pagelab;

namespace {

constexpr DType kActivations[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                  DType::kBFloat16};
constexpr DType kStored[] = {DType::kFloat64,  DType::kFloat32, DType::kFloat16,
                             DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2};

// " at 1_naive.cuh:88", where the attention kernel has this text.
std::string at_line_with(const std::string& text) {
  return " at " + test::source_place("gpu/kernels/paged_decode/1_naive.cuh", text);
}

const std::string kThread0 =
    "kernel paged_decode/1_naive, thread block (0, 0, 0), thread (0, 0, 0)";
const std::string kBoundsHint = " Is a check of the index against the size missing?";

// What a launch says: its error, or nothing.
template <typename Launch>
std::string error_of(const Launch& launch) {
  try {
    launch();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Attention of one query over two keys, each in a block of its own; the lengths of the arrays are
// what the tests get wrong.
struct SmallAttention {
  DType query_dtype = DType::kFloat32;
  DType cache_dtype = DType::kFloat32;
  std::int64_t num_queries = 1;
  std::int64_t num_keys = 2;
  std::int64_t num_values = 2;
  std::vector<std::int32_t> block_table = {1, 0};
  std::int64_t num_outputs = 1;
  bool reads_before_writing = false;  // the values are never written

  std::string error() const {
    const std::shared_ptr<Device> device = checked_simulator_device();
    const auto zeros = [&](DType dtype, std::int64_t count, const char* name) {
      return DeviceArray::copy_of(device, Tensor(dtype, {count}), name);
    };
    const DeviceArray query = zeros(query_dtype, num_queries, "query");
    const DeviceArray keys = zeros(cache_dtype, num_keys, "keys");
    const DeviceArray values =
        reads_before_writing
            ? DeviceArray(device, static_cast<std::size_t>(num_values * bytes_of(cache_dtype)),
                          "values")
            : zeros(cache_dtype, num_values, "values");
    const DeviceArray scales = DeviceArray::copy_of(device, std::vector<float>{1.0f}, "scales");
    const DeviceArray start =
        DeviceArray::copy_of(device, std::vector<std::int32_t>{0, 1}, "query_start_loc");
    const DeviceArray lens = DeviceArray::copy_of(device, std::vector<std::int32_t>{2}, "seq_lens");
    const DeviceArray table = DeviceArray::copy_of(device, block_table, "block_table");
    const DeviceArray output(device, static_cast<std::size_t>(num_outputs) * sizeof(float),
                             "output");
    const DeviceArray lse(device, sizeof(float), "lse");

    PagedAttentionParams params;
    params.query = query.data();
    params.num_tokens = params.num_query_heads = params.num_kv_heads = 1;
    params.head_size = params.head_size_v = params.num_reqs = 1;
    params.query_start_loc = start.as<std::int32_t>();
    params.seq_lens = lens.as<std::int32_t>();
    params.block_table = table.as<std::int32_t>();
    params.max_blocks_per_req = 2;
    params.key_cache = keys.data();
    params.value_cache = values.data();
    params.key_strides = params.value_strides = {.block = 1, .token = 1, .head = 1};
    params.k_scales = params.v_scales = scales.as<float>();
    params.output = output.as<float>();
    params.lse = lse.as<float>();
    const auto attend = kernels_of(*device).paged_decode[0].launchers.at(query_dtype, cache_dtype);
    return error_of([&] { attend(params); });
  }
};

// Two tokens of one element, stored at slots 1 and 0.
std::string error_of_cache_write(DType source,
                                 DType stored,
                                 std::int64_t num_rows,
                                 std::int64_t num_slots) {
  const std::shared_ptr<Device> device = checked_simulator_device();
  const DeviceArray rows = DeviceArray::copy_of(device, Tensor(source, {num_rows}), "rows");
  const DeviceArray cache(device, static_cast<std::size_t>(num_slots * bytes_of(stored)), "cache");
  const DeviceArray slots =
      DeviceArray::copy_of(device, std::vector<std::int64_t>{1, 0}, "slot_mapping");
  const DeviceArray scales = DeviceArray::copy_of(device, std::vector<float>{1.0f}, "scales");
  CacheWriteParams params;
  params.rows = rows.data();
  params.cache = cache.data();
  params.cache_strides = {.block = 1, .token = 1, .head = 1};
  params.num_tokens = 2;
  params.num_kv_heads = params.head_size = 1;
  params.slot_mapping = slots.as<std::int64_t>();
  params.scales = scales.as<float>();
  const auto write = kernels_of(*device).cache_write_naive.at(source, stored);
  return error_of([&] { write(params); });
}

}  // namespace

TEST_SUITE("checked kernels") {
  TEST_CASE("S8: a kernel that reads past the block table is reported with thread and index") {
    SmallAttention attention;
    CHECK(attention.error() == "");
    attention.block_table = {1};
    CHECK(attention.error() ==
          kThread0 + at_line_with("block_table_row[logical_block]") +
              " reads element 1 of array `block_table`, which has 1 elements of 4 bytes." +
              kBoundsHint);
  }

  TEST_CASE("S8: a block id beyond the cache is reported as an element of the keys") {
    SmallAttention attention;
    attention.block_table = {0, 7};
    CHECK(attention.error() ==
          kThread0 + at_line_with("cache_value<float>(key[i], k_scale)") +
              " reads element 7 of array `keys`, which has 2 elements of 4 bytes." + kBoundsHint);
  }

  TEST_CASE("S8: an array that is not there is reported as a null pointer") {
    SmallAttention attention;
    attention.num_outputs = 0;
    CHECK(attention.error() ==
          kThread0 + at_line_with("output[d] = 0.0f") +
              " writes through a null pointer. Is an array of the launch missing, or empty?");
  }

  TEST_CASE("S8: reads of queries and keys and values are seen in every dtype") {
    for (DType query_dtype : kActivations) {
      for (DType cache_dtype : kStored) {
        CAPTURE(to_string(query_dtype));
        CAPTURE(to_string(cache_dtype));
        const SmallAttention right = {.query_dtype = query_dtype, .cache_dtype = cache_dtype};
        CHECK(right.error() == "");
        SmallAttention wrong = right;
        wrong.num_keys = 1;
        CHECK(wrong.error().find("reads element 1 of array `keys`") != std::string::npos);
        wrong = right;
        wrong.num_values = 1;
        CHECK(wrong.error().find("reads element 1 of array `values`") != std::string::npos);
        wrong = right;
        wrong.reads_before_writing = true;
        CHECK(wrong.error().find("array `values`, which was never written") != std::string::npos);
      }
    }
  }

  TEST_CASE("S8: reads of rows and writes of slots are seen for every pair of dtypes") {
    for (DType source : kActivations) {
      for (DType stored : kStored) {
        CAPTURE(to_string(source));
        CAPTURE(to_string(stored));
        CHECK(error_of_cache_write(source, stored, 2, 2) == "");
        CHECK(error_of_cache_write(source, stored, 1, 2).find("reads element 1 of array `rows`") !=
              std::string::npos);
        CHECK(
            error_of_cache_write(source, stored, 2, 1).find("writes element 1 of array `cache`") !=
            std::string::npos);
      }
    }
  }
}
