#include "reference/registry/backend.h"

#include "reference/contract/error.h"
#include "reference/contract/validate.h"

namespace pagelab {

void refuse_cascade() {
  throw Error(
      "this backend has no cascade attention; REFERENCE, REFERENCE_FLOAT, FLASH_ATTN and "
      "FLASHINFER have.");
}

void AttentionImpl::forward_cascade(const Tensor&,
                                    const Tensor&,
                                    const Tensor&,
                                    const CommonAttentionMetadata&,
                                    const AttentionVariant&,
                                    std::int64_t,
                                    Tensor&,
                                    Tensor&) {
  refuse_cascade();
}

CascadePrecision AttentionBackend::cascade_precision(const AttentionStep&, std::int64_t) const {
  refuse_cascade();
}

AttentionResult attend(const AttentionStep& step, const AttentionBackend& backend) {
  validate(step, StepUse::kStoreAndAttend);
  const std::unique_ptr<AttentionImpl> impl = backend.make_impl(step.cache);
  impl->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
  AttentionResult result;
  impl->forward(step.query, step.key, step.value, step.metadata, step.variant, result.output,
                result.lse);
  result.cache = impl->kv_cache();
  return result;
}

AttentionResult attend_cascade(const AttentionStep& step,
                               std::int64_t num_common_prefix_blocks,
                               const AttentionBackend& backend) {
  validate(step, StepUse::kStoreAndAttend);
  const std::unique_ptr<AttentionImpl> impl = backend.make_impl(step.cache);
  impl->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
  AttentionResult result;
  impl->forward_cascade(step.query, step.key, step.value, step.metadata, step.variant,
                        num_common_prefix_blocks, result.output, result.lse);
  result.cache = impl->kv_cache();
  return result;
}

ErrorBound error_bound(const AttentionStep& step, const AttentionBackend& backend) {
  validate(step, StepUse::kAttend);
  std::vector<Precision> of_requests;
  for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
    of_requests.push_back(backend.precision(step, req_idx));
  }
  return error_bound(step, of_requests);
}

}  // namespace pagelab
