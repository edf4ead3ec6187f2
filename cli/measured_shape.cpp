#include "cli/measured_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
  const bool is_extend = parts[0] == "extend";
  const bool is_known = is_extend || parts[0] == "decode" || parts[0] == "prefill";
  if (!is_known || numbers.size() != (is_extend ? 3u : 2u)) {
    throw Error(
        fmt::format("'{}' is no shape: one is decode:REQUESTSxKEYS, prefill:REQUESTSxKEYS or "
                    "extend:REQUESTSxQUERIESxKEYS, as in decode:64x8192.",
                    text));
  }
  shape.num_reqs = number_of(text, numbers.front());
  shape.seq_len = number_of(text, numbers.back());
  if (parts[0] == "decode") shape.query_len = 1;
  if (parts[0] == "prefill") shape.query_len = shape.seq_len;
  if (is_extend) shape.query_len = number_of(text, numbers[1]);
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
  work.bytes = real(2 * shape.num_reqs * shape.seq_len * layer.num_kv_heads * layer.head_size) *
                   real(bytes_of(layer.dtype)) +
               real(shape.num_tokens() * layer.num_query_heads * layer.head_size * query_bytes);
  return work;
}

CommonAttentionMetadata metadata_of(const MeasuredShape& shape, const MeasuredLayer& layer) {
  CommonAttentionMetadata metadata;
  const std::int64_t blocks_per_req = blocks_for_tokens(shape.seq_len, layer.block_size);
  metadata.block_table = BlockTable::unused(shape.num_reqs, blocks_per_req);
  std::iota(metadata.block_table.entries.begin(), metadata.block_table.entries.end(), 0);
  std::shuffle(metadata.block_table.entries.begin(), metadata.block_table.entries.end(),
               std::mt19937(7));
  for (std::int64_t req_idx = 0; req_idx < shape.num_reqs; ++req_idx) {
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
