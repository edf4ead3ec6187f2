#include "reference/registry/validate_configuration.h"

#include <utility>

namespace pagelab {
namespace {

// Collects reasons; a layer that does not ask for a feature is not refused for its lack.
class Reasons {
 public:
  explicit Reasons(const SelectionQuestion& question) : question_(question) {}

  // Text is made only where it is needed: most checks pass.
  void add_unless(bool supported, const char* reason) {
    if (!supported) reasons_.emplace_back(reason);
  }
  void add_if_asked(bool asked, const Fact<bool>& supports, const char* reason) {
    if (asked && !supports(question_)) reasons_.emplace_back(reason);
  }
  // A kind of layer that the backend must serve exactly: asked for and not served, or the reverse.
  void add_on_mismatch(bool asked, const Fact<bool>& serves, const char* what) {
    const bool served = serves(question_);
    if (asked && !served) reasons_.push_back(std::string(what) + " not supported");
    if (!asked && served) reasons_.push_back("non-" + std::string(what) + " not supported");
  }
  void add_unless_served(bool served, AttentionType attn_type) {
    if (!served) {
      reasons_.push_back("attention type " + to_string(attn_type) + " not supported");
    }
  }
  void add(const CombinationRule rule) {
    if (rule == nullptr) return;
    if (std::optional<std::string> reason = rule(question_)) {
      reasons_.push_back(std::move(*reason));
    }
  }
  std::vector<std::string> take() { return std::move(reasons_); }

 private:
  const SelectionQuestion& question_;
  std::vector<std::string> reasons_;
};

}  // namespace

std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  Reasons reasons(question);

  // Step 1: shapes and types
  reasons.add_unless(supports_head_size(facts, question), "head_size not supported");
  reasons.add_unless(supports_dtype(facts, question), "dtype not supported");
  reasons.add_unless(supports_kv_cache_dtype(facts, question), "kv_cache_dtype not supported");
  reasons.add_unless(supports_block_size(facts, question), "block_size not supported");

  // Step 2: the kind of layer
  reasons.add_if_asked(config.use_mm_prefix, facts.supports_mm_prefix,
                       "partial multimodal token full attention not supported");
  reasons.add_on_mismatch(config.use_mla, facts.is_mla, "MLA");
  reasons.add_if_asked(config.has_sink, facts.supports_sink, "attention sinks not supported");
  reasons.add_on_mismatch(config.use_sparse, facts.is_sparse, "sparse");
  reasons.add_if_asked(config.use_per_head_quant_scales, facts.supports_per_head_quant_scales,
                       "per-head quant scales not supported");
  reasons.add_unless(supports_compute_capability(facts, question),
                     "compute capability not supported");
  reasons.add_unless_served(supports_attn_type(facts, question), config.attn_type);

  // Step 3: which keys are visible
  reasons.add_if_asked(config.has_sliding_window, facts.supports_sliding_window,
                       "sliding window not supported");
  reasons.add_if_asked(config.use_rswa, facts.supports_rswa, "R-SWA not supported");
  reasons.add_if_asked(config.use_non_causal, facts.supports_non_causal,
                       "non-causal attention not supported");
  reasons.add_if_asked(config.use_mla && config.use_non_causal && config.use_dcp,
                       facts.supports_non_causal_dcp,
                       "non-causal MLA attention with DCP not supported");

  // Step 4: how the run is organised
  reasons.add_if_asked(config.use_batch_invariant, facts.supports_batch_invariance,
                       "batch invariance not supported");
  reasons.add_if_asked(config.use_kv_connector, facts.supports_kv_connector,
                       "KV connector not supported");
  reasons.add_if_asked(config.use_pcp, facts.supports_pcp, "PCP not supported");
  reasons.add_if_asked(config.use_dcp, facts.supports_dcp, "DCP not supported");
  reasons.add_if_asked(config.use_adaptive_verification,
                       facts.supports_device_cpu_query_lens_mismatch,
                       "device-cpu query lens mismatch not supported, this is needed for adaptive "
                       "verification");

  // Step 5: what does not go together
  reasons.add(facts.supports_combination);
  reasons.add(facts.reason_after_all);
  return reasons.take();
}

}  // namespace pagelab
