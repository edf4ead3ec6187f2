#include "reference/model/llama.h"

#include <fmt/format.h>

#include <cmath>

#include "reference/model/linear.h"
#include "reference/model/rms_norm.h"
#include "reference/model/rope.h"
#include "reference/model/swiglu.h"
#include "reference/source_dir.h"

namespace pagelab {
namespace {

/// The rounding at the border between model and attention: [T, heads · size] float64 to
/// [T, heads, size] float32.
Tensor as_float_heads(const RowMatrix& x, std::int64_t num_heads) {
  Tensor heads(DType::kFloat32, {x.rows(), num_heads, x.cols() / num_heads});
  float* element = heads.data<float>();
  for (Eigen::Index i = 0; i < x.size(); ++i) element[i] = static_cast<float>(x.data()[i]);
  return heads;
}

/// Some rows of a matrix, in the order asked for.
template <typename Index>
RowMatrix rows_of(const RowMatrix& matrix, const std::vector<Index>& row_indices) {
  RowMatrix rows(static_cast<Eigen::Index>(row_indices.size()), matrix.cols());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) rows.row(i) = matrix.row(row_indices[i]);
  return rows;
}

}  // namespace

Llama::Llama(LlamaConfig config, LlamaWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {}

Llama Llama::load(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(
        fmt::format("{}: there is no such folder; a model is a folder with config.json and "
                    "model.safetensors.",
                    folder.string()));
  }
  LlamaConfig config = read_llama_config(folder / "config.json");
  LlamaWeights weights = read_llama_weights(folder, config);
  return Llama(std::move(config), std::move(weights));
}

KvCacheSpec Llama::kv_cache_spec(std::int64_t num_blocks, std::int64_t block_size) const {
  KvCacheSpec spec;
  spec.num_blocks = num_blocks;
  spec.block_size = block_size;
  spec.num_kv_heads = config_.num_key_value_heads;
  spec.head_size = config_.head_dim;
  spec.head_size_v = config_.head_dim;
  return spec;
}

AttentionLayers Llama::make_attention_layers(const AttentionBackend& backend,
                                             const KvCacheSpec& spec) const {
  AttentionLayers layers;
  for (std::int64_t layer_idx = 0; layer_idx < config_.num_hidden_layers; ++layer_idx) {
    layers.push_back(backend.make_impl(KvCache(spec)));
  }
  return layers;
}

void check_batch(const LlamaBatch& batch, const LlamaConfig& config) {
  const std::int64_t num_tokens = static_cast<std::int64_t>(batch.token_ids.size());
  const std::int64_t num_slots = static_cast<std::int64_t>(batch.metadata.slot_mapping.size());
  if (static_cast<std::int64_t>(batch.positions.size()) != num_tokens || num_slots != num_tokens) {
    throw Error(
        fmt::format("the batch has {} token_ids, {} positions and {} slots: these must agree.",
                    num_tokens, batch.positions.size(), num_slots));
  }
  if (batch.metadata.num_actual_tokens() > num_tokens) {
    throw Error(fmt::format("query_start_loc ends at {}, but the batch has {} tokens.",
                            batch.metadata.num_actual_tokens(), num_tokens));
  }
  for (std::int64_t token_idx = 0; token_idx < num_tokens; ++token_idx) {
    const std::int32_t token_id = batch.token_ids[token_idx];
    const std::int64_t position = batch.positions[token_idx];
    if (token_id < 0 || token_id >= config.vocab_size) {
      throw Error(fmt::format("token_ids[{}] is {}, but the vocabulary has {} tokens.", token_idx,
                              token_id, config.vocab_size));
    }
    if (position < 0 || position >= config.max_position_embeddings) {
      throw Error(fmt::format("positions[{}] is {}, but the model has positions 0 to {}.",
                              token_idx, position, config.max_position_embeddings - 1));
    }
  }
  for (std::int64_t row : batch.logits_indices) {
    if (row < 0 || row >= num_tokens) {
      throw Error(
          fmt::format("logits_indices holds {}, but the batch has {} tokens.", row, num_tokens));
    }
  }
}

RowMatrix Llama::attend(const RowMatrix& query,
                        const RowMatrix& key,
                        const RowMatrix& value,
                        const LlamaBatch& batch,
                        AttentionImpl& layer) const {
  const Tensor query_heads = as_float_heads(query, config_.num_attention_heads);
  const Tensor key_heads = as_float_heads(key, config_.num_key_value_heads);
  const Tensor value_heads = as_float_heads(value, config_.num_key_value_heads);
  AttentionVariant variant;
  variant.scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));

  // The new tokens see each other, so they are stored before anyone attends.
  layer.do_kv_cache_update(key_heads, value_heads, batch.metadata.slot_mapping);
  Tensor output;
  Tensor lse;
  if (batch.num_common_prefix_blocks > 0) {
    layer.forward_cascade(query_heads, key_heads, value_heads, batch.metadata, variant,
                          batch.num_common_prefix_blocks, output, lse);
  } else {
    layer.forward(query_heads, key_heads, value_heads, batch.metadata, variant, output, lse);
  }

  if (output.shape() != query_heads.shape()) {
    throw Error(fmt::format("the backend returned an output of shape {} for queries of shape {}.",
                            to_string(output.shape()), to_string(query_heads.shape())));
  }
  const Tensor output_in_double = convert(output, DType::kFloat64);
  return Eigen::Map<const RowMatrix>(output_in_double.data<double>(), query.rows(), query.cols());
}

RowMatrix Llama::forward(const LlamaBatch& batch, const AttentionLayers& layers) const {
  if (static_cast<std::int64_t>(layers.size()) != config_.num_hidden_layers) {
    throw Error(fmt::format("the model has {} layers, but {} attention layers were given.",
                            config_.num_hidden_layers, layers.size()));
  }
  check_batch(batch, config_);
  const double eps = config_.rms_norm_eps;
  const RopeAngles angles = rope_angles(batch.positions, config_.head_dim, config_.rope_theta);

  RowMatrix hidden = rows_of(weights_.embed_tokens, batch.token_ids);  // [T, hidden_size]
  for (std::int64_t layer_idx = 0; layer_idx < config_.num_hidden_layers; ++layer_idx) {
    const LlamaLayerWeights& weights = weights_.layers[layer_idx];

    // Attention, added to what comes in.
    const RowMatrix attention_input = rms_norm(hidden, weights.input_layernorm, eps);
    RowMatrix query = linear(attention_input, weights.q_proj);
    RowMatrix key = linear(attention_input, weights.k_proj);
    const RowMatrix value = linear(attention_input, weights.v_proj);
    apply_rope(query, angles);
    apply_rope(key, angles);
    const RowMatrix attended = attend(query, key, value, batch, *layers[layer_idx]);
    hidden += linear(attended, weights.o_proj);

    // The MLP, added likewise.
    const RowMatrix mlp_input = rms_norm(hidden, weights.post_attention_layernorm, eps);
    const RowMatrix gate = linear(mlp_input, weights.gate_proj);
    const RowMatrix up = linear(mlp_input, weights.up_proj);
    hidden += linear(swiglu(gate, up), weights.down_proj);
  }
  const RowMatrix wanted = rows_of(hidden, batch.logits_indices);  // [L, hidden_size]
  return linear(rms_norm(wanted, weights_.norm, eps), weights_.lm_head);
}

std::filesystem::path tiny_llama_folder() {
  const std::filesystem::path folder = source_dir() / "reference" / "model" / "tiny_llama";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(
        fmt::format("{}: there is no such folder; set PAGELAB_SOURCE_DIR to pagelab's "
                    "checkout.",
                    folder.string()));
  }
  return folder;
}

}  // namespace pagelab
