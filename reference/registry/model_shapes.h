/// \file
/// The attention layers of real models, as far as selection looks at them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/registry/selection_question.h"

namespace pagelab {

/// Dimensions of multi-head latent attention.
struct LatentShape {
  std::int64_t qk_nope_head_dim = 0;            ///< elements of a head without RoPE
  std::int64_t qk_rope_head_dim = 0;            ///< elements of a head with RoPE
  std::int64_t v_head_dim = 0;                  ///< elements of a value head
  std::int64_t kv_lora_rank = 0;                ///< width of the latent
  std::optional<std::int64_t> index_topk = {};  ///< keys that the indexer keeps; none: all
};

/// One model.
struct ModelShape {
  std::string_view name;                         ///< what users write
  std::string_view source;                       ///< whose config.json on huggingface.co
  std::int64_t num_heads = 0;                    ///< query heads
  std::int64_t num_kv_heads = 0;                 ///< KV heads
  std::int64_t head_size = 0;                    ///< as the cache stores it
  bool has_full_layers = true;                   ///< layers without a window
  bool has_window_layers = false;                ///< layers with one
  bool has_sink = false;                         ///< attention sinks
  bool use_mm_prefix = false;                    ///< images attend in both directions
  std::optional<double> logit_softcapping = {};  ///< soft cap of the scores
  std::optional<LatentShape> latent = {};        ///< MLA
};

/// All of them, by family.
/// \source config.json of each model, as sources that can be read without an account repeat it, compared number
///         by number in November 2026: litgpt's table (Lightning-AI/litgpt, litgpt/config.py) for all models from
///         llama-2-7b to gemma-3-27b but two; OpenAI's own model (openai/gpt-oss, gpt_oss/torch/model.py) for
///         the heads, sinks and alternating windows of both gpt-oss; DeepSeek's own inference/configs
///         (config_16B, config_671B, config_671B_v3.2) for the DeepSeek ones; copies of config.json that others
///         have published for yi-34b, opt-125m and kimi-k2. That images attend in both directions in Gemma 3 is
///         vLLM's is_mm_prefix_lm.
const std::vector<ModelShape>& model_shapes();

/// A model by name.
/// \throws Error  naming the models that there are, and the nearest
const ModelShape& find_model_shape(const std::string& name);

/// The questions of a model's layers, a kind of layer each: the full ones first, then those with a
/// window. GPU, dtypes and flags of the run are the caller's.
/// \param shape  the model
std::vector<SelectionQuestion> questions_of_layers(const ModelShape& shape);

}  // namespace pagelab
