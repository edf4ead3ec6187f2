/// \file
/// The weights of a Llama, in float64 and in the shape that linear.h multiplies with.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reference/model/llama_config.h"
#include "reference/model/row_matrix.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// One layer. A matrix is the transpose of the file's [out, in].
struct LlamaLayerWeights {
  RowVector input_layernorm;           ///< [hidden_size]
  RowMatrix q_proj;                    ///< [hidden_size, num_attention_heads · head_dim]
  RowMatrix k_proj;                    ///< [hidden_size, num_key_value_heads · head_dim]
  RowMatrix v_proj;                    ///< [hidden_size, num_key_value_heads · head_dim]
  RowMatrix o_proj;                    ///< [num_attention_heads · head_dim, hidden_size]
  RowVector post_attention_layernorm;  ///< [hidden_size]
  RowMatrix gate_proj;                 ///< [hidden_size, intermediate_size]
  RowMatrix up_proj;                   ///< [hidden_size, intermediate_size]
  RowMatrix down_proj;                 ///< [intermediate_size, hidden_size]
};

/// The whole model.
struct LlamaWeights {
  RowMatrix embed_tokens;                 ///< [vocab_size, hidden_size], a row a token
  std::vector<LlamaLayerWeights> layers;  ///< [num_hidden_layers]
  RowVector norm;                         ///< [hidden_size]
  RowMatrix lm_head;                      ///< [hidden_size, vocab_size]
};

/// Takes a Llama's weights out of the arrays of a safetensors file.
/// \param tensors  by Hugging Face's names, of any float dtype; consumed
/// \param config   gives the shapes
/// \throws Error   naming the array that is missing, has another shape or is no float; and for an
///                 array that a Llama does not have (a bias, say), because leaving it out would
///                 change the text
LlamaWeights llama_weights_from(std::map<std::string, Tensor> tensors, const LlamaConfig& config);

/// Reads `model.safetensors` of a model's folder.
/// \throws Error  as read_safetensors and llama_weights_from do, and for weights that are split
///                over several files
LlamaWeights read_llama_weights(const std::filesystem::path& folder, const LlamaConfig& config);

}  // namespace pagelab
