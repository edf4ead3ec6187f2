/// \file
/// The sizes and constants of a Llama, as Hugging Face's config.json gives them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pagelab {

/// What the model's shape is; names are config.json's.
/// \source  Hugging Face transformers, models/llama/configuration_llama.py
struct LlamaConfig {
  std::int64_t vocab_size = 0;               ///< tokens, at least 2
  std::int64_t hidden_size = 0;              ///< elements of a token's vector
  std::int64_t intermediate_size = 0;        ///< elements between the two halves of the MLP
  std::int64_t num_hidden_layers = 0;        ///< layers
  std::int64_t num_attention_heads = 0;      ///< query heads
  std::int64_t num_key_value_heads = 0;      ///< KV heads, a divisor of the query heads
  std::int64_t head_dim = 0;                 ///< elements of a head, even
  std::int64_t max_position_embeddings = 0;  ///< longest text in tokens, prompt and answer
  double rope_theta = 10000.0;               ///< base of RoPE's wavelengths
  double rms_norm_eps = 1e-6;                ///< keeps RMSNorm finite
  bool tie_word_embeddings = false;          ///< whether the logits reuse the embedding
  std::vector<std::int32_t> eos_token_ids;   ///< a text ends with one of these; may be empty
};

/// Reads config.json and checks every field that changes the arithmetic. Absent fields mean what
/// they mean to Hugging Face: num_key_value_heads is num_attention_heads, head_dim is
/// hidden_size / num_attention_heads, rope_theta 10000, hidden_act silu, the rest false or null.
/// \param path    the file
/// \throws Error  naming the file, the field, its value and what is allowed: for a model that is
///                not a Llama, and for every variation that is not implemented (rope_scaling,
///                biases, quantised weights, another activation)
LlamaConfig read_llama_config(const std::filesystem::path& path);

/// One line: layers, sizes, heads.
std::string to_string(const LlamaConfig& config);

}  // namespace pagelab
