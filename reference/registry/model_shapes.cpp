#include "reference/registry/model_shapes.h"

#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/python_text.h"

namespace pagelab {
namespace {

// A model whose layers are all alike and attend to everything before them.
ModelShape plain(std::string_view name,
                 std::string_view source,
                 std::int64_t num_heads,
                 std::int64_t num_kv_heads,
                 std::int64_t head_size) {
  ModelShape shape;
  shape.name = name;
  shape.source = source;
  shape.num_heads = num_heads;
  shape.num_kv_heads = num_kv_heads;
  shape.head_size = head_size;
  return shape;
}

ModelShape with_window_in_all_layers(ModelShape shape) {
  shape.has_full_layers = false;
  shape.has_window_layers = true;
  return shape;
}

ModelShape with_window_in_some_layers(ModelShape shape) {
  shape.has_window_layers = true;
  return shape;
}

ModelShape with_softcap(ModelShape shape, double softcap) {
  shape.logit_softcapping = softcap;
  return shape;
}

ModelShape with_sinks(ModelShape shape) {
  shape.has_sink = true;
  return shape;
}

ModelShape with_image_prefixes(ModelShape shape) {
  shape.use_mm_prefix = true;
  return shape;
}

// The cache holds the latent and the part with RoPE, for all heads together.
ModelShape latent(std::string_view name,
                  std::string_view source,
                  std::int64_t num_heads,
                  const LatentShape& dimensions) {
  ModelShape shape =
      plain(name, source, num_heads, 1, dimensions.kv_lora_rank + dimensions.qk_rope_head_dim);
  shape.latent = dimensions;
  return shape;
}

SelectionQuestion question_of_layer(const ModelShape& shape, bool has_window) {
  SelectionQuestion question;
  question.config.head_size = shape.head_size;
  question.config.has_sink = shape.has_sink;
  question.config.use_mm_prefix = shape.use_mm_prefix;
  question.config.has_sliding_window = has_window;
  ModelConfig& model = question.model.emplace();
  model.head_size = shape.head_size;
  model.num_heads = shape.num_heads;
  model.num_kv_heads = shape.num_kv_heads;
  model.is_mm_prefix_lm = shape.use_mm_prefix;
  model.attn_logit_softcapping = shape.logit_softcapping;
  if (shape.latent) {
    question.num_heads = shape.num_heads;
    question.config.use_mla = true;
    question.config.use_sparse = shape.latent->index_topk.has_value();
    model.qk_nope_head_dim = shape.latent->qk_nope_head_dim;
    model.qk_rope_head_dim = shape.latent->qk_rope_head_dim;
    model.v_head_dim = shape.latent->v_head_dim;
    model.kv_lora_rank = shape.latent->kv_lora_rank;
    model.index_topk = shape.latent->index_topk;
  }
  return question;
}

}  // namespace

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> kShapes = {
      plain("llama-2-7b", "meta-llama/Llama-2-7b-hf", 32, 32, 128),
      plain("llama-3-8b", "meta-llama/Meta-Llama-3-8B", 32, 8, 128),
      plain("llama-3-70b", "meta-llama/Meta-Llama-3-70B", 64, 8, 128),
      plain("llama-3.1-405b", "meta-llama/Llama-3.1-405B", 128, 8, 128),
      plain("llama-3.2-1b", "meta-llama/Llama-3.2-1B", 32, 8, 64),
      plain("tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", 32, 4, 64),
      with_window_in_all_layers(plain("mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1", 32, 8, 128)),
      plain("mistral-7b-v0.3", "mistralai/Mistral-7B-v0.3", 32, 8, 128),
      plain("mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1", 32, 8, 128),
      plain("qwen2.5-7b", "Qwen/Qwen2.5-7B", 28, 4, 128),
      plain("qwen2.5-72b", "Qwen/Qwen2.5-72B", 64, 8, 128),
      plain("qwen3-8b", "Qwen/Qwen3-8B", 32, 8, 128),
      plain("qwen3-32b", "Qwen/Qwen3-32B", 64, 8, 128),
      plain("qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", 64, 4, 128),
      plain("phi-4", "microsoft/phi-4", 40, 10, 128),
      plain("yi-34b", "01-ai/Yi-34B", 56, 8, 128),
      plain("falcon-7b", "tiiuae/falcon-7b", 71, 1, 64),
      plain("opt-125m", "facebook/opt-125m", 12, 12, 64),
      plain("pythia-2.8b", "EleutherAI/pythia-2.8b", 32, 32, 80),
      with_softcap(with_window_in_some_layers(plain("gemma-2-9b", "google/gemma-2-9b", 16, 8, 256)),
                   50.0),
      with_softcap(
          with_window_in_some_layers(plain("gemma-2-27b", "google/gemma-2-27b", 32, 16, 128)),
          50.0),
      with_image_prefixes(
          with_window_in_some_layers(plain("gemma-3-4b", "google/gemma-3-4b-it", 8, 4, 256))),
      with_image_prefixes(
          with_window_in_some_layers(plain("gemma-3-27b", "google/gemma-3-27b-it", 32, 16, 128))),
      with_sinks(with_window_in_some_layers(plain("gpt-oss-20b", "openai/gpt-oss-20b", 64, 8, 64))),
      with_sinks(
          with_window_in_some_layers(plain("gpt-oss-120b", "openai/gpt-oss-120b", 64, 8, 64))),
      latent("deepseek-v2-lite", "deepseek-ai/DeepSeek-V2-Lite", 16, {128, 64, 128, 512}),
      latent("deepseek-v3", "deepseek-ai/DeepSeek-V3", 128, {128, 64, 128, 512}),
      latent("deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2-Exp", 128, {128, 64, 128, 512, 2048}),
      latent("kimi-k2", "moonshotai/Kimi-K2-Instruct", 64, {128, 64, 128, 512}),
  };
  return kShapes;
}

const ModelShape& find_model_shape(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelShape& shape : model_shapes()) {
    if (shape.name == name) return shape;
    names.emplace_back(shape.name);
  }
  throw Error("there is no model " + name + " in the table" + did_you_mean(name, names) +
              "; there are " + comma_separated(names) + ".");
}

std::vector<SelectionQuestion> questions_of_layers(const ModelShape& shape) {
  std::vector<SelectionQuestion> questions;
  if (shape.has_full_layers) questions.push_back(question_of_layer(shape, false));
  if (shape.has_window_layers) questions.push_back(question_of_layer(shape, true));
  return questions;
}

}  // namespace pagelab
