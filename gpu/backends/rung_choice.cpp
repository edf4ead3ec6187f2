#include "gpu/backends/rung_choice.h"

#include "reference/contract/error.h"

namespace pagelab {

std::vector<AttentionRung> split_kv_rungs(const KernelSet& kernels) {
  return {kernels.paged_decode[6], kernels.paged_decode[5], kernels.paged_decode[4]};
}

std::vector<AttentionRung> varlen_rungs(const KernelSet& kernels) {
  return {kernels.paged_prefill[2], kernels.paged_prefill[0]};
}

std::vector<AttentionRung> prefix_rungs(const KernelSet& kernels) {
  return {kernels.cascade_prefix, kernels.paged_prefill[2], kernels.paged_prefill[0]};
}

AttentionRung first_that_takes(const std::string& backend,
                               const std::vector<AttentionRung>& rungs,
                               const PagedAttentionParams& sizes) {
  std::string reasons;
  for (const AttentionRung& rung : rungs) {
    const std::string refusal = rung.refusal == nullptr ? "" : rung.refusal(sizes);
    if (refusal.empty()) return rung;
    reasons += std::string(" ") + rung.name + ": " + refusal;
  }
  throw Error(backend + " has no kernel for this step." + reasons);
}

}  // namespace pagelab
