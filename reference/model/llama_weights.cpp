#include "reference/model/llama_weights.h"

#include <fmt/format.h>

#include "reference/tensor/safetensors.h"

namespace pagelab {
namespace {

/// Hands out arrays by name and knows which were never asked for.
class WeightsByName {
 public:
  explicit WeightsByName(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}

  /// A matrix as the file holds it: [rows, columns].
  RowMatrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    const Tensor tensor = take(name, {rows, columns});
    return Eigen::Map<const RowMatrix>(tensor.data<double>(), rows, columns);
  }
  /// A linear layer's matrix, [out, in] in the file, as [in, out].
  RowMatrix transposed(const std::string& name, std::int64_t out, std::int64_t in) {
    return matrix(name, out, in).transpose();
  }
  RowVector vector(const std::string& name, std::int64_t size) {
    const Tensor tensor = take(name, {size});
    return Eigen::Map<const RowVector>(tensor.data<double>(), size);
  }

  void drop(const std::string& name) { tensors_.erase(name); }

  void require_all_taken() const {
    if (tensors_.empty()) return;
    throw Error(
        fmt::format("the weights hold '{}', which this Llama does not have: leaving it out "
                    "would change the text.",
                    tensors_.begin()->first));
  }

 private:
  Tensor take(const std::string& name, const Shape& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      throw Error(fmt::format("the weights lack '{}' of shape {}.", name, to_string(shape)));
    }
    const Tensor& stored = found->second;
    if (stored.shape() != shape) {
      throw Error(fmt::format("'{}' has shape {}, but config.json makes it {}.", name,
                              to_string(stored.shape()), to_string(shape)));
    }
    if (!is_activation_dtype(stored.dtype())) {
      throw Error(fmt::format("'{}' is {}; weights may be float64, float32, float16 or bfloat16.",
                              name, to_string(stored.dtype())));
    }
    Tensor result = convert(stored, DType::kFloat64);
    tensors_.erase(found);
    return result;
  }

  std::map<std::string, Tensor> tensors_;
};

LlamaLayerWeights take_layer(WeightsByName& weights,
                             const LlamaConfig& config,
                             std::int64_t layer_idx) {
  const std::string prefix = fmt::format("model.layers.{}.", layer_idx);
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t query_width = config.num_attention_heads * config.head_dim;
  const std::int64_t kv_width = config.num_key_value_heads * config.head_dim;
  const std::int64_t intermediate = config.intermediate_size;

  LlamaLayerWeights layer;
  layer.input_layernorm = weights.vector(prefix + "input_layernorm.weight", hidden);
  layer.q_proj = weights.transposed(prefix + "self_attn.q_proj.weight", query_width, hidden);
  layer.k_proj = weights.transposed(prefix + "self_attn.k_proj.weight", kv_width, hidden);
  layer.v_proj = weights.transposed(prefix + "self_attn.v_proj.weight", kv_width, hidden);
  layer.o_proj = weights.transposed(prefix + "self_attn.o_proj.weight", hidden, query_width);
  layer.post_attention_layernorm =
      weights.vector(prefix + "post_attention_layernorm.weight", hidden);
  layer.gate_proj = weights.transposed(prefix + "mlp.gate_proj.weight", intermediate, hidden);
  layer.up_proj = weights.transposed(prefix + "mlp.up_proj.weight", intermediate, hidden);
  layer.down_proj = weights.transposed(prefix + "mlp.down_proj.weight", hidden, intermediate);
  // Older files carry RoPE's frequencies, which follow from rope_theta.
  weights.drop(prefix + "self_attn.rotary_emb.inv_freq");
  return layer;
}

}  // namespace

LlamaWeights llama_weights_from(std::map<std::string, Tensor> tensors, const LlamaConfig& config) {
  WeightsByName weights(std::move(tensors));
  LlamaWeights model;
  model.embed_tokens =
      weights.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden_size);
  for (std::int64_t layer_idx = 0; layer_idx < config.num_hidden_layers; ++layer_idx) {
    model.layers.push_back(take_layer(weights, config, layer_idx));
  }
  model.norm = weights.vector("model.norm.weight", config.hidden_size);
  if (config.tie_word_embeddings) {
    model.lm_head = model.embed_tokens.transpose();
    weights.drop("lm_head.weight");  // a copy of the embedding, where a file has it
  } else {
    model.lm_head = weights.transposed("lm_head.weight", config.vocab_size, config.hidden_size);
  }
  weights.require_all_taken();
  return model;
}

LlamaWeights read_llama_weights(const std::filesystem::path& folder, const LlamaConfig& config) {
  const std::filesystem::path path = folder / "model.safetensors";
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (!std::filesystem::exists(path) && std::filesystem::exists(index)) {
    throw Error(
        fmt::format("{}: weights split over several files are not supported; join them "
                    "into one model.safetensors.",
                    index.string()));
  }
  std::map<std::string, Tensor> tensors = read_safetensors(path);
  try {
    return llama_weights_from(std::move(tensors), config);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace pagelab
