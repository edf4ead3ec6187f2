/// \file
/// A backend that passes everything on to another one and keeps one real attention step of the
/// first layer: how the demo gets a step out of a running model, to repeat it on every other
/// backend.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "reference/registry/backend.h"

namespace pagelab {

/// Records the first step of the first layer whose batch the caller is looking for.
class RecordingBackend : public AttentionBackend {
 public:
  /// Whether a batch is the one to keep.
  using Predicate = std::function<bool(const CommonAttentionMetadata&)>;

  /// \param inner    does the work; must outlive this object
  /// \param is_wanted  chooses the step
  RecordingBackend(const AttentionBackend& inner, Predicate is_wanted);

  std::string name() const override { return inner_.name(); }
  std::string target() const override { return inner_.target(); }
  Precision precision(const AttentionStep& step, std::int64_t req_idx) const override {
    return inner_.precision(step, req_idx);
  }
  bool has_own_order() const override { return inner_.has_own_order(); }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override;

  /// The step that was kept, with the cache as it was before its tokens were stored; or nothing
  /// yet.
  const std::optional<AttentionStep>& recorded() const { return *recorded_; }

 private:
  const AttentionBackend& inner_;
  Predicate is_wanted_;
  std::shared_ptr<std::optional<AttentionStep>> recorded_;
  mutable bool first_layer_is_taken_ = false;
};

}  // namespace pagelab
