#include "reference/registry/reference_backends.h"

#include <type_traits>

#include <string>
#include <utility>
#include <vector>

#include "reference/attention/cascade.h"
#include "reference/attention/paged.h"
#include "reference/cache/cache_write.h"

namespace pagelab {

namespace {

// One layer. Its cache lies in a step whose other parts change from call to call.
template <typename Real>
class ReferenceImpl : public AttentionImpl {
 public:
  explicit ReferenceImpl(const KvCache& initial_cache) { step_.cache = initial_cache; }

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
    reshape_and_cache(key, value, slot_mapping, step_.cache);
  }

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    set_step(query, key, value, metadata, variant);
    paged_attention_in_place<Real>(step_, output, lse);  // validates the step
  }

  void forward_cascade(const Tensor& query,
                       const Tensor& key,
                       const Tensor& value,
                       const CommonAttentionMetadata& metadata,
                       const AttentionVariant& variant,
                       std::int64_t num_common_prefix_blocks,
                       Tensor& output,
                       Tensor& lse) override {
    set_step(query, key, value, metadata, variant);
    cascade_attention<Real>(step_, num_common_prefix_blocks, output, lse);  // validates the step
  }

  KvCache kv_cache() const override { return step_.cache; }

 private:
  void set_step(const Tensor& query,
                const Tensor& key,
                const Tensor& value,
                const CommonAttentionMetadata& metadata,
                const AttentionVariant& variant) {
    step_.query = query;
    step_.key = key;
    step_.value = value;
    step_.metadata = metadata;
    step_.variant = variant;
  }

  AttentionStep step_;
};

template <typename Real>
class ReferenceBackend : public AttentionBackend {
 public:
  explicit ReferenceBackend(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string target() const override { return "cpu"; }
  Precision precision(const AttentionStep&, std::int64_t) const override {
    constexpr bool kIsDouble = std::is_same_v<Real, double>;
    return kIsDouble ? Precision::canonical_double() : Precision::canonical_float();
  }
  CascadePrecision cascade_precision(const AttentionStep& step, std::int64_t) const override {
    const std::vector<Precision> both(step.metadata.seq_lens.size(), precision(step, 0));
    return {both, both};
  }
  bool has_cascade() const override { return true; }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return std::make_unique<ReferenceImpl<Real>>(initial_cache);
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<AttentionBackend> make_reference_backend() {
  return std::make_unique<ReferenceBackend<double>>("REFERENCE");
}

std::unique_ptr<AttentionBackend> make_reference_float_backend() {
  return std::make_unique<ReferenceBackend<float>>("REFERENCE_FLOAT");
}

}  // namespace pagelab
