#include "gpu/backends/device_llama.h"

#include <cmath>
#include <numeric>

#include "gpu/backends/kernels_of.h"
#include "reference/contract/refuse.h"
#include "reference/model/llama.h"
#include "reference/model/rope.h"

namespace pagelab {
namespace {

PersistentBatchSizes batch_sizes(const LlamaConfig& config, const DeviceModelSizes& sizes) {
  const bool fits_heads = sizes.cache.num_kv_heads == config.num_key_value_heads &&
                          sizes.cache.head_size == config.head_dim &&
                          sizes.cache.head_size_v == config.head_dim;
  if (!fits_heads) {
    refuse("the cache is for {} KV heads of {} and {} elements, but the model has {} of {}.",
           sizes.cache.num_kv_heads, sizes.cache.head_size, sizes.cache.head_size_v,
           config.num_key_value_heads, config.head_dim);
  }
  return {.max_num_tokens = sizes.max_num_tokens,
          .max_num_reqs = sizes.max_num_reqs,
          .max_blocks_per_req = sizes.max_blocks_per_req,
          .num_query_heads = config.num_attention_heads,
          .query_dtype = DType::kFloat32,
          .cache = sizes.cache,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)))};
}

template <typename Matrix>
DeviceArray device_copy(const std::shared_ptr<Device>& device,
                        const Matrix& matrix,
                        const char* name) {
  DeviceArray array(device, static_cast<std::size_t>(matrix.size()) * sizeof(double), name);
  array.copy_from(matrix.data());
  return array;
}

// [max_position_embeddings, head_dim]: of each position its cosines, then its sines.
RowMatrix cos_sin_table(const LlamaConfig& config) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(config.max_position_embeddings));
  std::iota(positions.begin(), positions.end(), 0);
  const RopeAngles angles = rope_angles(positions, config.head_dim, config.rope_theta);
  RowMatrix table(config.max_position_embeddings, config.head_dim);
  table << angles.cosine, angles.sine;
  return table;
}

Tensor fetch(Device& device, const void* rows, const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  device.copy_to_host(tensor.bytes(), rows, static_cast<std::size_t>(tensor.size_in_bytes()));
  return tensor;
}

}  // namespace

std::unique_ptr<DeviceModel> KernelBackend::make_device_model(const Llama& model,
                                                              const DeviceModelSizes& sizes) const {
  return std::make_unique<DeviceLlama>(*this, model, sizes);
}

DeviceLlama::DeviceLlama(const KernelBackend& backend,
                         const Llama& model,
                         const DeviceModelSizes& sizes)
    : device_(backend.device()),
      kernels_(kernels_of(*device_)),
      config_(model.config()),
      batch_(device_, batch_sizes(config_, sizes)),
      attention_(backend.make_launched_attention(batch_.sizes())) {
  for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    layers_.push_back(backend.make_layer(KvCache(sizes.cache)));
  }
  copy_weights(model);
  allocate(sizes.max_num_tokens, sizes.max_num_reqs);
}

void DeviceLlama::copy_weights(const Llama& model) {
  const LlamaWeights& host = model.weights();
  for (const LlamaLayerWeights& layer : host.layers) {
    weights_.push_back(
        {device_copy(device_, layer.input_layernorm, "input_layernorm"),
         device_copy(device_, layer.q_proj, "q_proj"), device_copy(device_, layer.k_proj, "k_proj"),
         device_copy(device_, layer.v_proj, "v_proj"), device_copy(device_, layer.o_proj, "o_proj"),
         device_copy(device_, layer.post_attention_layernorm, "post_attention_layernorm"),
         device_copy(device_, layer.gate_proj, "gate_proj"),
         device_copy(device_, layer.up_proj, "up_proj"),
         device_copy(device_, layer.down_proj, "down_proj")});
  }
  embed_tokens_ = device_copy(device_, host.embed_tokens, "embed_tokens");
  norm_ = device_copy(device_, host.norm, "norm");
  lm_head_ = device_copy(device_, host.lm_head, "lm_head");
  cos_sin_cache_ = device_copy(device_, cos_sin_table(config_), "cos_sin_cache");
}

DeviceArray DeviceLlama::doubles(std::int64_t count, const char* name) const {
  return DeviceArray(device_, static_cast<std::size_t>(count) * sizeof(double), name);
}

void DeviceLlama::allocate(std::int64_t max_num_tokens, std::int64_t max_num_reqs) {
  const std::int64_t query_size = config_.num_attention_heads * config_.head_dim;
  const std::int64_t kv_size = config_.num_key_value_heads * config_.head_dim;
  const auto tokens = static_cast<std::size_t>(max_num_tokens);
  token_ids_ = DeviceArray(device_, tokens * sizeof(std::int32_t), "token_ids");
  positions_ = DeviceArray(device_, tokens * sizeof(std::int64_t), "positions");
  hidden_ = doubles(max_num_tokens * config_.hidden_size, "hidden");
  normed_ = doubles(max_num_tokens * config_.hidden_size, "normed");
  query_ = doubles(max_num_tokens * query_size, "query");
  key_ = doubles(max_num_tokens * kv_size, "key");
  value_ = doubles(max_num_tokens * kv_size, "value");
  gate_ = doubles(max_num_tokens * config_.intermediate_size, "gate");
  up_ = doubles(max_num_tokens * config_.intermediate_size, "up");
  const auto num_floats = static_cast<std::size_t>(query_size) * tokens;
  output_ = DeviceArray(device_, num_floats * sizeof(float), "output");
  const auto num_rows = static_cast<std::size_t>(config_.num_attention_heads) * tokens;
  lse_ = DeviceArray(device_, num_rows * sizeof(float), "lse");
  const std::int64_t workspace = most_workspace(*attention_, batch_, layers_[0]->cache());
  workspace_ =
      DeviceArray(device_, static_cast<std::size_t>(workspace) * sizeof(float), "workspace");
  logits_indices_ = DeviceArray(
      device_, static_cast<std::size_t>(max_num_reqs) * sizeof(std::int32_t), "logits_indices");
  wanted_ = doubles(max_num_reqs * config_.hidden_size, "wanted");
  logits_ = doubles(max_num_reqs * config_.vocab_size, "logits");
}

StepParts DeviceLlama::parts() {
  StepParts parts;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    parts.push_back({false, [this, layer] { launch_piece(layer); }});
    parts.push_back({true, [this, layer] { launch_attention_of(layer); }});
  }
  parts.push_back({false, [this] { launch_piece(layers_.size()); }});
  return parts;
}

void DeviceLlama::set_graph_shape(std::int64_t num_tokens,
                                  std::int64_t num_reqs,
                                  std::int64_t max_query_len) {
  shape_ = {num_tokens, num_reqs, max_query_len, batch_.sizes().max_seq_len()};
  num_common_prefix_blocks_ = 0;
}

void DeviceLlama::update(const LlamaBatch& padded) {
  check_batch(padded, config_);
  if (static_cast<std::int64_t>(padded.logits_indices.size()) > batch_.sizes().max_num_reqs) {
    refuse("{} logits are wanted, but the persistent arrays have room for {} requests.",
           padded.logits_indices.size(), batch_.sizes().max_num_reqs);
  }
  batch_.update(padded.metadata);
  attention_->update(padded.metadata);
  token_ids_.overwrite(padded.token_ids);
  positions_.overwrite(padded.positions);
  logits_indices_.overwrite(
      std::vector<std::int32_t>(padded.logits_indices.begin(), padded.logits_indices.end()));
  shape_ = launch_shape_of(padded.metadata);
  metadata_ = padded.metadata;
  num_common_prefix_blocks_ = padded.num_common_prefix_blocks;
  num_logits_ = static_cast<std::int64_t>(padded.logits_indices.size());
}

// What lies between two attention layers: the end of the one before, and the beginning of the next.
void DeviceLlama::launch_piece(std::size_t piece) const {
  if (piece == 0) {
    launch_embedding();
  } else {
    launch_output_and_mlp(weights_[piece - 1]);
  }
  if (piece < weights_.size()) {
    launch_queries_keys_values(weights_[piece]);
  } else {
    launch_norm(hidden_, norm_);
  }
}

void DeviceLlama::launch_embedding() const {
  kernels_.model.gather_rows({.matrix = embed_tokens_.as<double>(),
                              .row_indices = token_ids_.as<std::int32_t>(),
                              .num_rows = shape_.num_tokens,
                              .size = config_.hidden_size,
                              .output = hidden_.as<double>()});
}

void DeviceLlama::launch_queries_keys_values(const Weights& weights) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t query_size = config_.num_attention_heads * config_.head_dim;
  const std::int64_t kv_size = config_.num_key_value_heads * config_.head_dim;
  launch_norm(hidden_, weights.input_layernorm);
  launch_linear(normed_, hidden, weights.q_proj, query_size, query_);
  launch_linear(normed_, hidden, weights.k_proj, kv_size, key_);
  launch_linear(normed_, hidden, weights.v_proj, kv_size, value_);
  launch_rotation(query_, config_.num_attention_heads, batch_.query());
  launch_rotation(key_, config_.num_key_value_heads, batch_.key());
  kernels_.model.round_to_float({.input = value_.as<double>(),
                                 .num_elements = shape_.num_tokens * kv_size,
                                 .output = static_cast<float*>(batch_.value())});
}

void DeviceLlama::launch_output_and_mlp(const Weights& weights) const {
  // Attention, added to what came in.
  const std::int64_t hidden = config_.hidden_size;
  kernels_.model.linear_of_heads({.input = output_.as<float>(),
                                  .weight = weights.o_proj.as<double>(),
                                  .residual = hidden_.as<double>(),
                                  .num_tokens = shape_.num_tokens,
                                  .input_size = config_.num_attention_heads * config_.head_dim,
                                  .output_size = hidden,
                                  .output = hidden_.as<double>()});

  // The MLP, added likewise.
  const std::int64_t intermediate = config_.intermediate_size;
  launch_norm(hidden_, weights.post_attention_layernorm);
  launch_linear(normed_, hidden, weights.gate_proj, intermediate, gate_);
  launch_linear(normed_, hidden, weights.up_proj, intermediate, up_);
  kernels_.model.silu_and_mul({.gate = gate_.as<double>(),
                               .up = up_.as<double>(),
                               .num_elements = shape_.num_tokens * intermediate,
                               .output = gate_.as<double>()});
  launch_linear(gate_, intermediate, weights.down_proj, hidden, hidden_, &hidden_);
}

void DeviceLlama::launch_norm(const DeviceArray& input, const DeviceArray& weight) const {
  kernels_.model.rms_norm({.input = input.as<double>(),
                           .weight = weight.as<double>(),
                           .eps = config_.rms_norm_eps,
                           .num_tokens = shape_.num_tokens,
                           .size = config_.hidden_size,
                           .output = normed_.as<double>()});
}

void DeviceLlama::launch_linear(const DeviceArray& input,
                                std::int64_t input_size,
                                const DeviceArray& weight,
                                std::int64_t output_size,
                                const DeviceArray& output,
                                const DeviceArray* residual) const {
  kernels_.model.linear({.input = input.as<double>(),
                         .weight = weight.as<double>(),
                         .residual = residual == nullptr ? nullptr : residual->as<double>(),
                         .num_tokens = shape_.num_tokens,
                         .input_size = input_size,
                         .output_size = output_size,
                         .output = output.as<double>()});
}

void DeviceLlama::launch_rotation(const DeviceArray& input,
                                  std::int64_t num_heads,
                                  void* output) const {
  kernels_.model.rotary_embedding({.input = input.as<double>(),
                                   .positions = positions_.as<std::int64_t>(),
                                   .cos_sin_cache = cos_sin_cache_.as<double>(),
                                   .num_tokens = shape_.num_tokens,
                                   .num_heads = num_heads,
                                   .head_size = config_.head_dim,
                                   .output = static_cast<float*>(output)});
}

void DeviceLlama::launch_attention_of(std::size_t layer) const {
  const DeviceKvCache& cache = layers_[layer]->cache();
  // The new tokens see each other, so they are stored before anyone attends.
  launch_cache_writes(kernels_, batch_, shape_, cache);
  if (num_common_prefix_blocks_ > 0 || !attention_->takes(shape_)) {
    attend_by_way_of_the_host(layer);
    return;
  }
  launch_attention(
      *attention_, batch_, shape_, cache,
      {.output = output_.as<float>(),
       .lse = lse_.as<float>(),
       .workspace = workspace_.as<float>(),
       .workspace_floats = static_cast<std::int64_t>(workspace_.bytes() / sizeof(float))});
}

void DeviceLlama::attend_by_way_of_the_host(std::size_t layer) const {
  const std::int64_t tokens = shape_.num_tokens;
  const std::int64_t size = config_.head_dim;
  const Shape of_kv = {tokens, config_.num_key_value_heads, size};
  const Tensor query = fetch(*device_, batch_.query(), {tokens, config_.num_attention_heads, size});
  const Tensor key = fetch(*device_, batch_.key(), of_kv);
  const Tensor value = fetch(*device_, batch_.value(), of_kv);
  AttentionVariant variant;
  variant.scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
  Tensor output;
  Tensor lse;
  if (num_common_prefix_blocks_ > 0) {
    layers_[layer]->forward_cascade(query, key, value, metadata_, variant,
                                    num_common_prefix_blocks_, output, lse);
  } else {
    layers_[layer]->forward(query, key, value, metadata_, variant, output, lse);
  }
  device_->copy_to_device(output_.data(), output.bytes(),
                          static_cast<std::size_t>(output.size_in_bytes()));
}

Tensor DeviceLlama::logits() {
  Tensor logits(DType::kFloat64, {num_logits_, config_.vocab_size});
  if (num_logits_ == 0) return logits;
  kernels_.model.gather_rows({.matrix = normed_.as<double>(),
                              .row_indices = logits_indices_.as<std::int32_t>(),
                              .num_rows = num_logits_,
                              .size = config_.hidden_size,
                              .output = wanted_.as<double>()});
  kernels_.model.linear({.input = wanted_.as<double>(),
                         .weight = lm_head_.as<double>(),
                         .num_tokens = num_logits_,
                         .input_size = config_.hidden_size,
                         .output_size = config_.vocab_size,
                         .output = logits_.as<double>()});
  device_->copy_to_host(logits.bytes(), logits_.data(),
                        static_cast<std::size_t>(logits.size_in_bytes()));
  return logits;
}

}  // namespace pagelab
