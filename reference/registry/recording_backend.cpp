#include "reference/registry/recording_backend.h"

#include "reference/registry/forwarding_impl.h"

namespace pagelab {
namespace {

class RecordingImpl : public ForwardingImpl {
 public:
  RecordingImpl(std::unique_ptr<AttentionImpl> inner,
                RecordingBackend::Predicate is_wanted,
                std::shared_ptr<std::optional<AttentionStep>> recorded)
      : ForwardingImpl(std::move(inner)),
        is_wanted_(std::move(is_wanted)),
        recorded_(std::move(recorded)) {}

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
    // Whether this step is wanted is known only when its metadata comes, after the write.
    if (!recorded_->has_value()) cache_before_write_ = kv_cache();
    ForwardingImpl::do_kv_cache_update(key, value, slot_mapping);
  }

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    if (!recorded_->has_value() && is_wanted_(metadata)) {
      *recorded_ = AttentionStep{query, key, value, cache_before_write_, metadata, variant};
    }
    ForwardingImpl::forward(query, key, value, metadata, variant, output, lse);
  }

 private:
  RecordingBackend::Predicate is_wanted_;
  std::shared_ptr<std::optional<AttentionStep>> recorded_;
  KvCache cache_before_write_;
};

}  // namespace

RecordingBackend::RecordingBackend(const AttentionBackend& inner, Predicate is_wanted)
    : inner_(inner),
      is_wanted_(std::move(is_wanted)),
      recorded_(std::make_shared<std::optional<AttentionStep>>()) {}

std::unique_ptr<AttentionImpl> RecordingBackend::make_impl(const KvCache& initial_cache) const {
  std::unique_ptr<AttentionImpl> inner = inner_.make_impl(initial_cache);
  if (first_layer_is_taken_) return inner;
  first_layer_is_taken_ = true;
  return std::make_unique<RecordingImpl>(std::move(inner), is_wanted_, recorded_);
}

}  // namespace pagelab
