#include "reference/contract/step_folder.h"

#include <fmt/format.h>

#include <cmath>

#include "reference/contract/step_json.h"
#include "reference/contract/validate.h"
#include "reference/tensor/npy.h"

namespace pagelab {
namespace {

namespace fs = std::filesystem;

constexpr int kAnyRank = -1;

// One step folder; each method reads one file, or one idea that needs several.
class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder) : folder_(folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      throw Error(fmt::format("{}: there is no such folder.", folder.string()));
    }
    json_ = read_step_json(folder / "step.json");
  }

  StepFolder read() {
    StepFolder result;
    AttentionStep& step = result.step;
    step.query = read_floats("query", 3, json_.dtype);
    step.key = read_floats("key", 3, json_.dtype);
    step.value = read_floats("value", 3, json_.dtype);
    step.cache = read_cache(step);
    step.metadata = read_metadata();
    step.variant = read_variant(step);
    validate(step);
    result.expected = read_expected(step);
    note_missing_scale(step.cache, result.notes);
    return result;
  }

 private:
  fs::path path_of(const std::string& name) const { return folder_ / (name + ".npy"); }

  bool has(const std::string& name) const {
    // A link that leads nowhere counts as present: reading it will say what is wrong.
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path_of(name), ignored));
  }

  [[noreturn]] void fail(const std::string& name, const std::string& sentence) const {
    throw Error(fmt::format("{}: {}", path_of(name).string(), sentence));
  }

  bool is_encoder_only() const { return json_.attn_type == AttnType::kEncoderOnly; }
  DType cache_dtype() const { return json_.kv_cache_dtype.value_or(json_.dtype); }

  Tensor read_array(const std::string& name, int rank, DType dtype) const {
    const Tensor array = read_npy(path_of(name));
    if (rank != kAnyRank && array.rank() != rank) {
      fail(name, fmt::format("the array has shape {}, but it must have {} axes.",
                             to_string(array.shape()), rank));
    }
    if (array.dtype() != dtype) {
      fail(name, fmt::format("the array is {}, but it must be {}.", to_string(array.dtype()),
                             to_string(dtype)));
    }
    return array;
  }

  // An array of a type that step.json names; small floats travel as bit patterns.
  Tensor read_floats(const std::string& name, int rank, DType dtype) const {
    DType stored = dtype;
    if (dtype == DType::kBFloat16) stored = DType::kUInt16;
    if (is_fp8(dtype)) stored = DType::kUInt8;
    return read_array(name, rank, stored).reinterpreted_as(dtype);
  }

  template <typename T>
  std::vector<T> read_vector(const std::string& name) const {
    const Tensor array = read_array(name, 1, DTypeOf<T>::kValue);
    return {array.data<T>(), array.data<T>() + array.size()};
  }

  // Slopes, sinks and scales: any float file type, kept as float32.
  std::vector<float> read_parameters(const std::string& name, bool may_be_scalar) const {
    const Tensor array = read_npy(path_of(name));
    const bool fits = array.rank() == 1 || (may_be_scalar && array.rank() == 0);
    if (!fits || array.size() == 0) {
      fail(name,
           fmt::format("the array has shape {}, but it must be a list of at least one number.",
                       to_string(array.shape())));
    }
    if (!is_activation_dtype(array.dtype())) {
      fail(name, fmt::format("the array is {}, but it must be float32, float64 or float16.",
                             to_string(array.dtype())));
    }
    std::vector<float> values(array.size());
    for (std::int64_t index = 0; index < array.size(); ++index) {
      values[index] = static_cast<float>(array.value(index));
    }
    return values;
  }

  KvCache read_cache(const AttentionStep& step) const {
    KvCacheSpec spec;
    spec.dtype = cache_dtype();
    Tensor keys(spec.dtype, {0, 1, step.num_kv_heads(), step.key.shape()[2]});
    Tensor values(spec.dtype, {0, 1, step.num_kv_heads(), step.head_size_v()});
    const bool is_absent = is_encoder_only() && !has("key_cache") && !has("value_cache");
    if (!is_absent) {
      keys = read_floats("key_cache", 4, spec.dtype);
      values = read_floats("value_cache", 4, spec.dtype);
    }
    for (int axis = 0; axis < 3; ++axis) {
      if (keys.shape()[axis] != values.shape()[axis]) {
        fail("value_cache", fmt::format("the array has shape {}, but key_cache has {}, and the "
                                        "first three axes must agree.",
                                        to_string(values.shape()), to_string(keys.shape())));
      }
    }
    spec.num_blocks = keys.shape()[0];
    spec.block_size = keys.shape()[1];
    spec.num_kv_heads = keys.shape()[2];
    spec.head_size = keys.shape()[3];
    spec.head_size_v = values.shape()[3];
    if (spec.block_size == 0) {
      fail("key_cache", fmt::format("the array has shape {}, but a block must hold a token.",
                                    to_string(keys.shape())));
    }
    KvCache cache(spec);
    cache.assign(keys, values);
    cache.k_scale = read_scale("k_scale", json_.k_scale);
    cache.v_scale = read_scale("v_scale", json_.v_scale);
    return cache;
  }

  std::vector<float> read_scale(const std::string& name, std::optional<double> number) const {
    if (has(name)) {
      if (number) fail(name, "the file is there, but step.json has the same scale as a number.");
      return read_parameters(name, true);
    }
    return {static_cast<float>(number.value_or(1.0))};
  }

  // Either scale is 1 where it is missing, never the other one.
  void note_missing_scale(const KvCache& cache, std::vector<std::string>& notes) const {
    const bool has_k_scale = has("k_scale") || json_.k_scale;
    const bool has_v_scale = has("v_scale") || json_.v_scale;
    if (!is_fp8(cache.spec().dtype) || has_k_scale == has_v_scale) return;
    notes.push_back(fmt::format("{} is given, but {} is not: it is 1.",
                                has_k_scale ? "k_scale" : "v_scale",
                                has_k_scale ? "v_scale" : "k_scale"));
  }

  CommonAttentionMetadata read_metadata() const {
    CommonAttentionMetadata metadata;
    metadata.query_start_loc = read_vector<std::int32_t>("query_start_loc");
    metadata.seq_lens = read_vector<std::int32_t>("seq_lens");
    metadata.slot_mapping = read_vector<std::int64_t>("slot_mapping");
    metadata.block_table.num_reqs = metadata.num_reqs();
    if (is_encoder_only() && !has("block_table")) return metadata;
    const Tensor table = read_array("block_table", 2, DType::kInt32);
    metadata.block_table.num_reqs = table.shape()[0];
    metadata.block_table.max_blocks_per_req = table.shape()[1];
    const std::int32_t* entries = table.data<std::int32_t>();
    metadata.block_table.entries.assign(entries, entries + table.size());
    return metadata;
  }

  AttentionVariant read_variant(const AttentionStep& step) const {
    AttentionVariant variant;
    variant.attn_type = json_.attn_type;
    variant.scale = json_.scale.value_or(1.0 / std::sqrt(static_cast<double>(step.head_size())));
    variant.visibility.causal = json_.causal.value_or(json_.attn_type == AttnType::kDecoder);
    variant.visibility.window_left = json_.window_left;
    variant.visibility.window_right = json_.window_right;
    variant.logit_softcap = json_.logit_softcap;
    if (has("alibi_slopes")) variant.alibi_slopes = read_parameters("alibi_slopes", false);
    if (has("sinks")) variant.sinks = read_parameters("sinks", false);
    if (has("mm_prefix_ranges")) variant.mm_prefix_ranges = read_ranges();
    return variant;
  }

  std::vector<MmPrefixRange> read_ranges() const {
    const Tensor array = read_array("mm_prefix_ranges", 2, DType::kInt32);
    if (array.shape()[1] != 3) {
      fail("mm_prefix_ranges",
           fmt::format("the array has shape {}, but each row must be request, first, last.",
                       to_string(array.shape())));
    }
    const TensorView<const std::int32_t, 2> rows = array.view<std::int32_t, 2>();
    std::vector<MmPrefixRange> ranges;
    for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
      ranges.push_back({rows(row, 0), rows(row, 1), rows(row, 2)});
    }
    return ranges;
  }

  ExpectedResult read_expected(const AttentionStep& step) const {
    ExpectedResult expected;
    const KvCacheSpec& spec = step.cache.spec();
    const Shape output_shape = {step.num_tokens(), step.num_query_heads(), step.head_size_v()};
    const Shape lse_shape = {step.num_query_heads(), step.num_tokens()};
    const Shape key_shape = {spec.num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size};
    const Shape value_shape = {spec.num_blocks, spec.block_size, spec.num_kv_heads,
                               spec.head_size_v};
    expected.output = read_expected_array("expected_output", DType::kFloat64, output_shape);
    expected.lse = read_expected_array("expected_lse", DType::kFloat64, lse_shape);
    expected.key_cache = read_expected_array("expected_key_cache", spec.dtype, key_shape);
    expected.value_cache = read_expected_array("expected_value_cache", spec.dtype, value_shape);
    return expected;
  }

  std::optional<Tensor> read_expected_array(const std::string& name,
                                            DType dtype,
                                            const Shape& shape) const {
    if (!has(name)) return std::nullopt;
    const Tensor array = read_floats(name, kAnyRank, dtype);
    if (array.shape() != shape) {
      fail(name, fmt::format("the array has shape {}, but the step's result has {}.",
                             to_string(array.shape()), to_string(shape)));
    }
    return array;
  }

  fs::path folder_;
  StepJson json_;
};

}  // namespace

StepFolder read_step_folder(const fs::path& folder) { return FolderReader(folder).read(); }

}  // namespace pagelab
