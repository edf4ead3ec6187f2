/// \file
/// The model whose steps are timed: Llama 3.1 8B in bfloat16, whose attention layers have the heads of our kernels'
/// measurements (32 query heads on 8 KV heads of 128).
/// \source huggingface.co/meta-llama/Llama-3.1-8B, config.json
#pragma once

#include <cstdint>

namespace pagelab {

/// Sizes of a Llama.
struct ServedModel {
  std::int64_t num_layers = 32;            ///< each with attention and a feed-forward network
  std::int64_t hidden_size = 4096;         ///< elements of a token between layers
  std::int64_t intermediate_size = 14336;  ///< elements of a token within the feed-forward network
  std::int64_t vocab_size = 128256;        ///< tokens that there are
  std::int64_t num_query_heads = 32;       ///< query heads
  std::int64_t num_kv_heads = 8;           ///< KV heads
  std::int64_t head_size = 128;            ///< elements of a head
  std::int64_t element_size = 2;           ///< bytes of a weight, and of a cached element

  /// Weights of one layer's matrices: Q and output, K and V, and the three of the feed-forward network.
  std::int64_t weights_per_layer() const {
    return 2 * hidden_size * num_query_heads * head_size +
           2 * hidden_size * num_kv_heads * head_size + 3 * hidden_size * intermediate_size;
  }
  /// Weights of the matrix that turns a token's last state into logits.
  std::int64_t weights_of_logits() const { return hidden_size * vocab_size; }
  /// Bytes of one token's key and value in one layer's cache.
  std::int64_t kv_bytes_per_token_and_layer() const {
    return 2 * num_kv_heads * head_size * element_size;
  }
};

}  // namespace pagelab
