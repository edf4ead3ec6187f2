#include <fmt/format.h>

#include "reference/contract/step_folder.h"
#include "reference/contract/step_json.h"
#include "reference/contract/validate.h"
#include "reference/tensor/npy.h"

namespace pagelab {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw Error(fmt::format("{}: the folder cannot be made.", folder.string()));
  }
}

template <typename T>
Tensor tensor_of(const std::vector<T>& values) {
  return Tensor::from_values<T>({static_cast<std::int64_t>(values.size())}, values);
}

// Writes an optional file, or removes the one of an earlier step, which would be read as this
// one's.
void write_or_remove(const fs::path& path, const std::optional<Tensor>& array) {
  if (array) {
    write_npy(path, *array);
    return;
  }
  std::error_code error;
  fs::remove(path, error);
  if (error)
    throw Error(fmt::format("{}: the file of an earlier step cannot be removed.", path.string()));
}

std::optional<Tensor> tensor_unless_empty(const std::vector<float>& values) {
  if (values.empty()) return std::nullopt;
  return tensor_of(values);
}

// A scale a head is a file; one for all is a number in step.json.
std::optional<Tensor> scale_file(const std::vector<float>& scale) {
  if (scale.size() == 1) return std::nullopt;
  return tensor_of(scale);
}

std::optional<double> scale_number(const std::vector<float>& scale) {
  if (scale.size() != 1) return std::nullopt;
  return scale[0];
}

std::optional<Tensor> ranges_file(const std::vector<MmPrefixRange>& ranges) {
  if (ranges.empty()) return std::nullopt;
  std::vector<std::int32_t> numbers;
  for (const MmPrefixRange& range : ranges) {
    numbers.insert(numbers.end(), {range.req_idx, range.first, range.last});
  }
  return Tensor::from_values<std::int32_t>({static_cast<std::int64_t>(ranges.size()), 3}, numbers);
}

StepJson json_of(const AttentionStep& step) {
  const AttentionVariant& variant = step.variant;
  StepJson json;
  json.dtype = step.query.dtype();
  const DType cache_dtype = step.cache.spec().dtype;
  if (cache_dtype != json.dtype) json.kv_cache_dtype = cache_dtype;
  json.attn_type = variant.attn_type;
  json.scale = variant.scale;
  json.causal = variant.visibility.causal;
  json.window_left = variant.visibility.window_left;
  json.window_right = variant.visibility.window_right;
  json.logit_softcap = variant.logit_softcap;
  json.k_scale = scale_number(step.cache.k_scale);
  json.v_scale = scale_number(step.cache.v_scale);
  return json;
}

void write_metadata(const fs::path& folder, const CommonAttentionMetadata& metadata) {
  const BlockTable& table = metadata.block_table;
  write_npy(folder / "query_start_loc.npy", tensor_of(metadata.query_start_loc));
  write_npy(folder / "seq_lens.npy", tensor_of(metadata.seq_lens));
  write_npy(folder / "slot_mapping.npy", tensor_of(metadata.slot_mapping));
  write_npy(
      folder / "block_table.npy",
      Tensor::from_values<std::int32_t>({table.num_reqs, table.max_blocks_per_req}, table.entries));
}

}  // namespace

void write_step_folder(const fs::path& folder,
                       const AttentionStep& step,
                       const ExpectedResult& expected) {
  validate(step);
  make_folder(folder);
  write_npy(folder / "query.npy", step.query);
  write_npy(folder / "key.npy", step.key);
  write_npy(folder / "value.npy", step.value);
  write_npy(folder / "key_cache.npy", step.cache.keys());
  write_npy(folder / "value_cache.npy", step.cache.values());
  write_metadata(folder, step.metadata);
  write_or_remove(folder / "k_scale.npy", scale_file(step.cache.k_scale));
  write_or_remove(folder / "v_scale.npy", scale_file(step.cache.v_scale));
  write_or_remove(folder / "alibi_slopes.npy", tensor_unless_empty(step.variant.alibi_slopes));
  write_or_remove(folder / "sinks.npy", tensor_unless_empty(step.variant.sinks));
  write_or_remove(folder / "mm_prefix_ranges.npy", ranges_file(step.variant.mm_prefix_ranges));
  write_or_remove(folder / "expected_output.npy", expected.output);
  write_or_remove(folder / "expected_lse.npy", expected.lse);
  write_or_remove(folder / "expected_key_cache.npy", expected.key_cache);
  write_or_remove(folder / "expected_value_cache.npy", expected.value_cache);
  // Last, so that a folder with a step.json is complete.
  write_step_json(folder / "step.json", json_of(step));
}

void write_result(const fs::path& folder, const AttentionResult& result) {
  make_folder(folder);
  write_npy(folder / "output.npy", result.output);
  write_npy(folder / "lse.npy", result.lse);
  write_npy(folder / "key_cache.npy", result.cache.keys());
  write_npy(folder / "value_cache.npy", result.cache.values());
}

}  // namespace pagelab
