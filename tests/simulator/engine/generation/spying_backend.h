/// \file
/// An engine over the tiny Llama whose attention the test watches.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "reference/registry/forwarding_impl.h"
#include "reference/registry/reference_backends.h"
#include "simulator/engine/generation/engine_core.h"

namespace pagelab::test {

/// Passes everything on to REFERENCE, and keeps what each step was.
class SpiedImpl : public ForwardingImpl {
 public:
  using ForwardingImpl::ForwardingImpl;
  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    seen.push_back(metadata);
    ForwardingImpl::forward(query, key, value, metadata, variant, output, lse);
    if (answers_nan) output.data<double>()[0] = std::nan("");
  }

  std::vector<CommonAttentionMetadata> seen;  ///< one a step
  bool answers_nan = false;                   ///< spoils what REFERENCE returns
};

/// Makes such layers, and has no cascade.
class SpyingBackend : public AttentionBackend {
 public:
  std::string name() const override { return "SPY"; }
  std::string target() const override { return "cpu"; }
  Precision precision(const AttentionStep&, std::int64_t) const override {
    return Precision::canonical_double();
  }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    auto impl = std::make_unique<SpiedImpl>(make_reference_backend()->make_impl(initial_cache));
    layers.push_back(impl.get());
    return impl;
  }
  mutable std::vector<SpiedImpl*> layers;  ///< owned by the engine
};

/// A prompt of the tiny Llama's tokens; which ones matters little.
inline std::vector<std::int32_t> prompt_of(std::int64_t length) {
  std::vector<std::int32_t> prompt;
  for (std::int64_t i = 0; i < length; ++i) prompt.push_back(static_cast<std::int32_t>(7 * i % 65));
  return prompt;
}

/// An engine of few blocks. The prompts above begin alike, so with prefix caching they would share blocks.
inline EngineOptions pool(std::int64_t num_blocks, std::int64_t block_size, std::int64_t budget) {
  EngineOptions options;
  options.enable_prefix_caching = false;
  options.num_blocks = num_blocks;
  options.block_size = block_size;
  options.max_num_batched_tokens = budget;
  return options;
}

/// Steps until all texts are written.
inline std::vector<StepRecord> run_to_the_end(EngineCore& engine) {
  std::vector<StepRecord> records;
  while (engine.has_unfinished()) records.push_back(engine.step());
  return records;
}

}  // namespace pagelab::test
