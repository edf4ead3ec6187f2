/// \file
/// A layer's attention over the arrays of a PersistentBatch: launches and nothing else, so that a graph can hold it.
/// What differs between backends is behind LaunchedAttention, one object for all layers of a model:
///
///     update(metadata)     each step: the backend's own metadata is built, and written where the launches read it
///     launch(params)       each layer, or each recording of one: the kernel
///
/// It is what an AttentionImpl's metadata builder and forward are (kernel_impl.h), without an allocation or a copy
/// between two layers.
/// \source vLLM v1/attention/backend.py, AttentionMetadataBuilder: build, and build_for_cudagraph_capture
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "gpu/backends/persistent_batch.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/kernels/kernel_set.h"

namespace pagelab {

/// How a backend attends for steps that lie in a PersistentBatch.
class LaunchedAttention {
 public:
  virtual ~LaunchedAttention() = default;

  /// Writes what the backend needs beside the PersistentBatch. Nothing, for most.
  /// \param padded  valid
  virtual void update(const CommonAttentionMetadata& padded) { (void)padded; }

  /// Whether steps of this shape are attended for by launches alone. Those of another are left to an AttentionImpl.
  virtual bool takes(const LaunchShape& shape) const {
    (void)shape;
    return true;
  }

  /// Floats of workspace that a launch needs.
  /// \param shape   that it takes
  /// \param params  of PersistentBatch::attention with that shape
  virtual std::int64_t workspace_floats(const LaunchShape& shape,
                                        const PagedAttentionParams& params) const = 0;

  /// Launches.
  /// \param shape   that it takes
  /// \param params  of PersistentBatch::attention with that shape, with results and workspace
  /// \throws Error  if no kernel takes the types or sizes
  virtual void launch(const LaunchShape& shape, const PagedAttentionParams& params) const = 0;
};

/// Which kernel a backend launches, for one that needs nothing but the batch.
using RungOfShape =
    std::function<AttentionRung(const LaunchShape& shape, const PagedAttentionParams& params)>;

/// The attention of such a backend.
std::unique_ptr<LaunchedAttention> launched_by_one_rung(RungOfShape rung_of);

/// Where a layer's results go, and what its kernel works in.
struct LayerArrays {
  float* output = nullptr;            ///< [max_num_tokens, num_query_heads, head_size_v]
  float* lse = nullptr;               ///< [num_query_heads, max_num_tokens]
  float* workspace = nullptr;         ///< [workspace_floats]
  std::int64_t workspace_floats = 0;  ///< most_workspace()
};

/// Floats of workspace that no step of these sizes exceeds: that of decodes only, or of any others.
std::int64_t most_workspace(const LaunchedAttention& attention,
                            const PersistentBatch& batch,
                            const DeviceKvCache& cache);

/// Stores a layer's keys and values.
void launch_cache_writes(const KernelSet& kernels,
                         const PersistentBatch& batch,
                         const LaunchShape& shape,
                         const DeviceKvCache& cache);

/// Attends for a layer, whose keys and values are stored.
void launch_attention(const LaunchedAttention& attention,
                      const PersistentBatch& batch,
                      const LaunchShape& shape,
                      const DeviceKvCache& cache,
                      const LayerArrays& arrays);

}  // namespace pagelab
