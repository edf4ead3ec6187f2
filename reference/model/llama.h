/// \file
/// A Llama around somebody else's attention. Everything but attention runs here, on the CPU, in
/// float64, with an order that does not depend on the batch; queries, keys and values are rounded
/// to float32 and handed to a backend. So whatever differs between two backends' texts comes from
/// their attention alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/model/llama_config.h"
#include "reference/model/llama_weights.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// One step's tokens, of any number of requests: some deep in their prompts, some decoding. Those from
/// metadata.num_actual_tokens() on are padding: computed, and of no effect.
struct LlamaBatch {
  std::vector<std::int32_t> token_ids;  ///< [T]
  std::vector<std::int64_t> positions;  ///< [T] of each token in its request's text
  CommonAttentionMetadata metadata;     ///< which tokens belong to whom, and where K and V lie
  /// Leading blocks of all requests' tables that are read once for all of them; 0: no cascade.
  std::int64_t num_common_prefix_blocks = 0;
  /// [L] the tokens after which a next one is wanted: usually the last of each finished prompt.
  std::vector<std::int64_t> logits_indices;
};

/// Refuses a batch that a model cannot compute.
/// \param batch    of any origin; its metadata is looked at only for its number of tokens
/// \param config   of the model
/// \throws Error   naming the field, if numbers disagree or are out of range
void check_batch(const LlamaBatch& batch, const LlamaConfig& config);

/// The attention of every layer, each with a cache of its own.
using AttentionLayers = std::vector<std::unique_ptr<AttentionImpl>>;

/// A Llama's configuration and weights.
class Llama {
 public:
  /// \param config   sizes
  /// \param weights  in those sizes
  Llama(LlamaConfig config, LlamaWeights weights);

  /// Reads `config.json` and `model.safetensors`.
  /// \param folder  a model in Hugging Face's form
  /// \throws Error  naming the file and what is wrong with it
  static Llama load(const std::filesystem::path& folder);

  const LlamaConfig& config() const { return config_; }     ///< sizes and constants
  const LlamaWeights& weights() const { return weights_; }  ///< as loaded

  /// The sizes of one layer's cache; float32 in the default layout.
  KvCacheSpec kv_cache_spec(std::int64_t num_blocks, std::int64_t block_size) const;

  /// One attention a layer, each over an empty cache of these sizes.
  /// \param backend  where cache and attention live
  /// \param spec     as kv_cache_spec gives it; dtype and layout may be changed
  AttentionLayers make_attention_layers(const AttentionBackend& backend,
                                        const KvCacheSpec& spec) const;

  /// One step: stores the tokens' keys and values in every layer and returns logits.
  /// \param batch    the tokens
  /// \param layers   as make_attention_layers gives them
  /// \returns        [L, vocab_size]
  /// \throws Error   if batch is inconsistent, or the backend refuses it
  RowMatrix forward(const LlamaBatch& batch, const AttentionLayers& layers) const;

 private:
  RowMatrix attend(const RowMatrix& query,
                   const RowMatrix& key,
                   const RowMatrix& value,
                   const LlamaBatch& batch,
                   AttentionImpl& layer) const;

  LlamaConfig config_;
  LlamaWeights weights_;
};

/// The folder of the model that comes with pagelab: reference/model/tiny_llama in source_dir().
/// \throws Error  if there is no such folder
std::filesystem::path tiny_llama_folder();

}  // namespace pagelab
