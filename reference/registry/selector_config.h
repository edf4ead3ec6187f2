/// \file
/// The record by which an attention layer asks for a backend: all that selection knows of the layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pagelab {

/// Whose keys a layer attends over, as the registry spells it. (The contract's AttnType has the
/// three that pagelab computes.)
/// \source vLLM v1/attention/backend.py, AttentionType
enum class AttentionType : std::uint8_t {
  kDecoder,         ///< "decoder": the request's own tokens, from the cache
  kEncoder,         ///< "encoder": the encoder side of an encoder-decoder model
  kEncoderOnly,     ///< "encoder_only": this step's tokens, no cache
  kEncoderDecoder,  ///< "encoder_decoder": cross attention
};

/// "AttentionType.DECODER": how Python 3.11 and later print the enum.
std::string to_string(AttentionType attn_type);

/// One layer's question, with vLLM's fields and defaults.
/// \source vLLM v1/attention/selector.py, AttentionSelectorConfig
struct AttentionSelectorConfig {
  std::int64_t head_size = 0;                      ///< elements of a head; no default in vLLM
  std::string dtype;                               ///< of the activations: "bfloat16"; no default
  std::optional<std::string> kv_cache_dtype = {};  ///< one of kv_cache_dtype_names(), or not known
  std::optional<std::int64_t> block_size = {};     ///< tokens; only if the user gave one
  bool use_mla = false;                            ///< multi-head latent attention
  bool has_sink = false;                           ///< attention sinks
  bool use_sparse = false;                         ///< an indexer chooses the keys
  bool use_mm_prefix = false;  ///< multimodal tokens attend in both directions (prefix-LM)
  bool use_per_head_quant_scales = false;             ///< a quantisation scale for every head
  AttentionType attn_type = AttentionType::kDecoder;  ///< whose keys
  bool has_sliding_window = false;                    ///< the layer has a window
  bool use_non_causal = false;                        ///< no causal mask
  bool use_batch_invariant = false;        ///< a row's bits do not depend on its neighbours
  bool use_kv_connector = false;           ///< cache blocks are sent to or fetched from elsewhere
  bool use_pcp = false;                    ///< prefill context parallelism
  bool use_adaptive_verification = false;  ///< query lengths on the device differ from the CPU's
  bool use_dcp = false;                    ///< decode context parallelism
  bool use_rswa = false;                   ///< a window that keeps the prompt visible
};

/// The record as vLLM's messages print it. `use_adaptive_verification` comes before `use_pcp`
/// there, a field earlier than in the record.
std::string to_string(const AttentionSelectorConfig& config);

}  // namespace pagelab
