#include "reference/registry/backend.h"

#include "reference/contract/validate.h"

namespace pagelab {

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

}  // namespace pagelab
