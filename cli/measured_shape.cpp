#include "cli/measured_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <random>

#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

constexpr std::int64_t kMostTokens = 16 * 1024 * 1024;

std::int64_t number_of(const std::string& shape, const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && parsed_to == end && number >= 1 && number <= kMostTokens) {
    return number;
  }
  throw Error(
      fmt::format("shape {}: '{}' must be a whole number from 1 to {}.", shape, text, kMostTokens));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts = {""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void require_positive(const char* field, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw Error(fmt::format("--{} is {}, but it must be from 1 to {}.", field, value, most));
}

}  // namespace

MeasuredShape shape_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const std::vector<std::string> numbers =
      parts.size() == 2 ? split(parts[1], 'x') : std::vector<std::string>{};
  MeasuredShape shape;
  shape.name = text;
  const bool has_three = parts[0] == "extend" || parts[0] == "cascade";
  const bool is_known = has_three || parts[0] == "decode" || parts[0] == "prefill";
  if (!is_known || numbers.size() != (has_three ? 3u : 2u)) {
    throw Error(
        fmt::format("'{}' is no shape: one is decode:REQUESTSxKEYS, prefill:REQUESTSxKEYS, "
                    "extend:REQUESTSxQUERIESxKEYS or cascade:REQUESTSxPREFIXxOWN, as in "
                    "decode:64x8192.",
                    text));
  }
  shape.num_reqs = number_of(text, numbers.front());
  shape.seq_len = number_of(text, numbers.back());
  shape.query_len = 1;
  if (parts[0] == "prefill") shape.query_len = shape.seq_len;
  if (parts[0] == "extend") shape.query_len = number_of(text, numbers[1]);
  if (parts[0] == "cascade") {
    shape.prefix_len = number_of(text, numbers[1]);
    shape.seq_len += shape.prefix_len;
  }
  if (shape.query_len > shape.seq_len) {
    throw Error(fmt::format("shape {}: {} queries cannot be the last of {} keys.", text,
                            shape.query_len, shape.seq_len));
  }
  if (shape.num_reqs * shape.seq_len > kMostTokens) {
    throw Error(fmt::format("shape {}: it has {} keys in all, but at most {} are allowed.", text,
                            shape.num_reqs * shape.seq_len, kMostTokens));
  }
  return shape;
}

Work work_of(const MeasuredShape& shape, const MeasuredLayer& layer, std::int64_t output_bytes) {
  const auto real = [](std::int64_t number) { return static_cast<double>(number); };
  // Query i of n sees the keys before it and its own: seq_len − n + i + 1. For a long prefill half of all pairs.
  const double hidden_pairs = real(shape.query_len) * real(shape.query_len - 1) / 2.0;
  const double pairs =
      real(shape.num_reqs) * (real(shape.query_len) * real(shape.seq_len) - hidden_pairs);
  const std::int64_t query_bytes = bytes_of(layer.dtype) + output_bytes;
  Work work;
  work.operations = 4.0 * pairs * real(layer.num_query_heads) * real(layer.head_size);
  const std::int64_t num_keys =
      shape.prefix_len + shape.num_reqs * (shape.seq_len - shape.prefix_len);
  work.bytes =
      real(2 * num_keys * layer.num_kv_heads * layer.head_size) * real(bytes_of(layer.dtype)) +
      real(shape.num_tokens() * layer.num_query_heads * layer.head_size * query_bytes);
  return work;
}

std::int64_t num_blocks_of(const MeasuredShape& shape, const MeasuredLayer& layer) {
  const std::int64_t num_shared = shape.prefix_len / layer.block_size;
  return num_shared +
         shape.num_reqs * (blocks_for_tokens(shape.seq_len, layer.block_size) - num_shared);
}

CommonAttentionMetadata metadata_of(const MeasuredShape& shape, const MeasuredLayer& layer) {
  CommonAttentionMetadata metadata;
  const std::int64_t num_shared = shape.prefix_len / layer.block_size;
  const std::int64_t num_columns = blocks_for_tokens(shape.seq_len, layer.block_size);
  std::vector<std::int32_t> pool(static_cast<std::size_t>(num_blocks_of(shape, layer)));
  std::iota(pool.begin(), pool.end(), 0);
  std::shuffle(pool.begin(), pool.end(), std::mt19937(7));
  metadata.block_table = BlockTable::unused(shape.num_reqs, num_columns);
  auto own = pool.begin() + num_shared;
  for (std::int64_t req_idx = 0; req_idx < shape.num_reqs; ++req_idx) {
    const auto row = metadata.block_table.row(req_idx).begin();
    std::copy_n(pool.begin(), num_shared, row);
    std::copy_n(own, num_columns - num_shared, row + num_shared);
    own += num_columns - num_shared;
    metadata.query_start_loc.push_back(static_cast<std::int32_t>((req_idx + 1) * shape.query_len));
    metadata.seq_lens.push_back(static_cast<std::int32_t>(shape.seq_len));
  }
  metadata.slot_mapping.assign(static_cast<std::size_t>(shape.num_tokens()), kNoSlot);
  return metadata;
}

Tensor measured_numbers(const Shape& shape, DType dtype) {
  Tensor numbers(DType::kFloat32, shape);
  std::mt19937 random(7);
  for (std::int64_t index = 0; index < numbers.size(); ++index) {
    numbers.data<float>()[index] = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  }
  return convert(numbers, dtype);
}

KvCache measured_cache(std::int64_t num_blocks, const MeasuredLayer& layer) {
  KvCacheSpec spec;
  spec.block_size = layer.block_size;
  spec.num_blocks = num_blocks;
  spec.num_kv_heads = layer.num_kv_heads;
  spec.head_size = spec.head_size_v = layer.head_size;
  spec.dtype = layer.dtype;
  KvCache cache(spec);
  const Tensor period = measured_numbers({std::int64_t{1} << 20}, layer.dtype);
  for (Tensor& array : cache.arrays()) {
    std::byte* const bytes = static_cast<std::byte*>(array.bytes());
    for (std::int64_t first = 0; first < array.size_in_bytes(); first += period.size_in_bytes()) {
      const std::int64_t part = std::min(period.size_in_bytes(), array.size_in_bytes() - first);
      std::memcpy(bytes + first, period.bytes(), static_cast<std::size_t>(part));
    }
  }
  return cache;
}

void require_valid(const MeasuredShape& shape, const MeasuredLayer& layer) {
  if (shape.prefix_len % layer.block_size == 0) return;
  throw Error(fmt::format(
      "shape {}: its prefix has {} keys, but requests share whole blocks, of {} tokens here: "
      "a multiple of that, or another --block-size.",
      shape.name, shape.prefix_len, layer.block_size));
}

void require_valid(const MeasuredLayer& layer) {
  require_positive("num-query-heads", layer.num_query_heads, 1024);
  require_positive("num-kv-heads", layer.num_kv_heads, 1024);
  require_positive("head-size", layer.head_size, 1024);
  require_positive("block-size", layer.block_size, 65536);
  if (layer.num_query_heads % layer.num_kv_heads == 0) return;
  throw Error(
      fmt::format("--num-query-heads is {}, but it must be a multiple of --num-kv-heads, "
                  "which is {}.",
                  layer.num_query_heads, layer.num_kv_heads));
}

}  // namespace pagelab::cli
