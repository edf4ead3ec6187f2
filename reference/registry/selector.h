/// \file
/// One level above selection: what a layer says and what the run is set to become a record, and a
/// member that the user asked for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/registry/registration.h"
#include "reference/registry/selection.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// What an attention layer says of itself.
struct LayerCall {
  std::int64_t head_size = 0;                         ///< elements of a head
  std::string dtype;                                  ///< of the activations
  std::optional<std::string> kv_cache_dtype = {};     ///< as the layer names it
  bool use_mla = false;                               ///< latent attention
  bool has_sink = false;                              ///< attention sinks
  bool use_sparse = false;                            ///< an indexer chooses the keys
  bool use_mm_prefix = false;                         ///< prefix masks
  bool use_per_head_quant_scales = false;             ///< a scale for every head
  AttentionType attn_type = AttentionType::kDecoder;  ///< whose keys
  bool has_sliding_window = false;                    ///< a window
  std::optional<std::int64_t> num_heads = {};         ///< query heads; an MLA layer says it
};

/// Members by the kind of cache group that they serve.
using BackendPerKind = std::vector<std::pair<std::string, std::string>>;

/// What a run is set to, as far as the record depends on it.
struct RunSettings {
  bool has_cache_config = true;                    ///< there is a cache
  std::int64_t block_size = 16;                    ///< tokens
  bool user_specified_block_size = false;          ///< else it is a default, and binds nobody
  std::optional<std::string> backend = {};         ///< the member that the user asks for
  BackendPerKind backend_per_kind = {};            ///< the same, for some kinds of layers
  bool use_non_causal = false;                     ///< attention config
  bool batch_invariant = false;                    ///< environment
  std::optional<bool> kv_transfer_instance = {};   ///< transfer config: is this an instance of it?
  int pcp_size = 1;                                ///< prefill context parallelism
  int dcp_size = 1;                                ///< decode context parallelism
  std::optional<bool> adaptive_verification = {};  ///< speculative config: enabled?
  std::string model_tag = {};                      ///< which model is being built
  std::optional<std::int64_t> rswa_window = {};    ///< of the model
};

/// The record of a layer in a run.
/// \throws RaisedError  an AssertionError if the cache dtype is no name of one
/// \source vLLM v1/attention/selector.py, get_attn_backend
AttentionSelectorConfig selector_config_of(const LayerCall& call, const RunSettings& run);

/// The kind of cache group that a layer belongs to: "full_attention", "sliding_window_mla", ...
/// Sinks do not change it; the encoder side of an encoder-decoder counts as full or windowed.
std::string kv_cache_group_kind(AttentionType attn_type, bool use_mla, bool has_sliding_window);

/// All kinds of cache groups, sorted.
const std::vector<std::string>& kv_cache_group_kinds();

/// The member asked for: the one of the kind, or else the run's.
std::optional<std::string> backend_asked_for(const RunSettings& run, const std::string& kind);

/// The attention settings that a user gives, once read.
struct AttentionConfig {
  std::optional<std::string> backend = {};  ///< none: automatic
  std::string minimax_msa_decode =
      "triton";                          ///< sparse decode of MiniMax M3: "cutlass" or "triton"
  BackendPerKind backend_per_kind = {};  ///< in the user's order
};

/// Reads the settings. Letter case does not count; "auto" is automatic, and CUTLASS_MSA and
/// TRITON_MSA set the decode of MiniMax M3.
/// \param backend           as the user wrote it, if at all
/// \param backend_per_kind  as the user wrote it
/// \param registry          the members
/// \throws RaisedError      a ValueError for an unknown member or kind, listing what there is
/// \source vLLM config/attention.py, AttentionConfig
AttentionConfig parse_attention_config(const std::optional<std::string>& backend,
                                       const BackendPerKind& backend_per_kind,
                                       const BackendRegistry& registry);

}  // namespace pagelab
