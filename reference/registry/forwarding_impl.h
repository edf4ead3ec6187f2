/// \file
/// An attention that leaves everything to another one: what wraps an attention to watch it overrides
/// the calls that it watches, and no others.
#pragma once

#include <memory>
#include <vector>

#include "reference/registry/backend.h"

namespace pagelab {

/// Passes every call on to an impl of its own.
class ForwardingImpl : public AttentionImpl {
 public:
  /// \param inner  does the work
  explicit ForwardingImpl(std::unique_ptr<AttentionImpl> inner) : inner_(std::move(inner)) {}

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
    inner_->do_kv_cache_update(key, value, slot_mapping);
  }

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    inner_->forward(query, key, value, metadata, variant, output, lse);
  }

  void forward_cascade(const Tensor& query,
                       const Tensor& key,
                       const Tensor& value,
                       const CommonAttentionMetadata& metadata,
                       const AttentionVariant& variant,
                       std::int64_t num_common_prefix_blocks,
                       Tensor& output,
                       Tensor& lse) override {
    inner_->forward_cascade(query, key, value, metadata, variant, num_common_prefix_blocks, output,
                            lse);
  }

  KvCache kv_cache() const override { return inner_->kv_cache(); }

 private:
  std::unique_ptr<AttentionImpl> inner_;
};

}  // namespace pagelab
