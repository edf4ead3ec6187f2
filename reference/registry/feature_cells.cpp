#include "reference/registry/feature_cells.h"

#include <algorithm>
#include <limits>

#include "reference/registry/gpu_names.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/python_text.h"

namespace pagelab {
namespace {

constexpr int kNoLastMinor = 99;  // a range that ends here holds a whole major

std::string short_dtype(std::string_view dtype) {
  if (dtype == "float16") return "fp16";
  if (dtype == "bfloat16") return "bf16";
  return dtype == "float64" ? "fp64" : "fp32";
}

std::string attn_type_name(AttentionType attn_type) {
  switch (attn_type) {
    case AttentionType::kDecoder:
      return "Decoder";
    case AttentionType::kEncoder:
      return "Encoder";
    case AttentionType::kEncoderOnly:
      return "Encoder Only";
    case AttentionType::kEncoderDecoder:
      return "Enc-Dec";
  }
  return "";
}

bool is_whole_major(const CapabilityRange& range) {
  return range.least.major == range.most.major && range.least.minor == 0 &&
         range.most.minor == kNoLastMinor;
}

std::string range_cell(const CapabilityRange& range) {
  if (range.most.major == kNoLastMinor) return "≥" + to_string(range.least);
  if (is_whole_major(range)) return std::to_string(range.least.major) + ".x";
  if (range.least == range.most) return to_string(range.least);
  return std::to_string(range.least.major) + ".x-" + std::to_string(range.most.major) + ".x";
}

bool is_neighbour(const CapabilityRange& range, const CapabilityRange& next) {
  return is_whole_major(range) && is_whole_major(next) && range.least.major + 1 == next.least.major;
}

}  // namespace

std::string dtypes_cell(const BackendFacts& facts) {
  std::vector<std::string> names;
  for (const std::string_view dtype : facts.dtypes) names.push_back(short_dtype(dtype));
  return comma_separated(names);
}

std::string kv_cache_dtypes_cell(const BackendFacts& facts, const SelectionQuestion& question) {
  SelectionQuestion asked = question;
  std::vector<std::string_view> names;
  for (const std::string_view name : kv_cache_dtype_names()) {
    asked.config.kv_cache_dtype = name;
    if (supports_kv_cache_dtype(facts, asked)) names.push_back(name);
  }
  return comma_separated(names);
}

std::string block_sizes_cell(const BackendFacts& facts, const SelectionQuestion& question) {
  std::vector<std::string> sizes;
  for (const KernelBlockSize& block : facts.kernel_block_sizes(question)) {
    if (block == multiple_of(1)) return "Any";
    sizes.push_back((block.any_multiple ? "%" : "") + std::to_string(block.size));
  }
  return comma_separated(sizes);
}

std::string head_sizes_cell(const BackendFacts& facts, const SelectionQuestion& question) {
  const HeadSizes sizes = facts.head_sizes(question);
  std::vector<std::string> parts;
  for (const std::int64_t head_size : sizes.listed) parts.push_back(std::to_string(head_size));
  if (parts.empty()) {
    if (sizes.multiple_of > 1) parts.push_back("%" + std::to_string(sizes.multiple_of));
    if (sizes.least > 1) parts.push_back("≥" + std::to_string(sizes.least));
    if (sizes.most < std::numeric_limits<std::int64_t>::max()) {
      parts.push_back("≤" + std::to_string(sizes.most));
    }
  }
  return parts.empty() ? "Any" : comma_separated(parts);
}

std::string attn_types_cell(const BackendFacts& facts) {
  constexpr std::size_t kAllTypes = 4;
  if (facts.attn_types.size() == kAllTypes) return "All";
  std::vector<std::string> names;
  for (const AttentionType type : facts.attn_types) names.push_back(attn_type_name(type));
  return comma_separated(names);
}

std::string capabilities_cell(const BackendFacts& facts) {
  const std::string_view family = facts.family;
  if (family.starts_with("rocm") || family.starts_with("cpu") || family == "xpu") return "N/A";
  const std::vector<CapabilityRange>& ranges = facts.capabilities;
  const bool is_any = ranges.size() == 1 && ranges.front().least == DeviceCapability{0, 0};
  if (is_any) return "Any";
  std::vector<std::string> texts;
  for (std::size_t range_idx = 0; range_idx < ranges.size(); ++range_idx) {
    const bool joins_next =
        range_idx + 1 < ranges.size() && is_neighbour(ranges[range_idx], ranges[range_idx + 1]);
    if (joins_next) {
      texts.push_back(range_cell(ranges[range_idx]) + "-" + range_cell(ranges[range_idx + 1]));
      ++range_idx;
    } else {
      texts.push_back(range_cell(ranges[range_idx]));
    }
  }
  return comma_separated(texts);
}

}  // namespace pagelab
