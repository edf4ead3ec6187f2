/// \file
/// The layers of a model, as far as attention goes, in device memory: for each of them the launches that lie between two
/// attention layers, the two cache writes, and FLASH_ATTN's kernels. This is what CUDA graphs are recorded of, in the
/// tests, the lesson and the benchmark.
///
///     part 0           part 1                       part 2           part 3
///     piece            attention of layer 0         piece            attention of layer 1      ...
///     n stand-ins      keys, values, paged_decode   n stand-ins      keys, values, paged_decode
///
/// Stand-ins: a Llama layer launches eight kernels or more between two attentions (two norms, four products, rotary
/// embedding, activation; DeviceLlama, which really computes, thirteen). Here as many transposes of the activations are
/// in their place. They are launched as often and do little: what is measured with them is the cost of launching.
#pragma once

#include <memory>
#include <vector>

#include "gpu/backends/flash_attn.h"
#include "gpu/backends/launched_attention.h"
#include "gpu/backends/persistent_batch.h"
#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/step_parts.h"

namespace pagelab {

/// What a stack is made of.
struct LayerStackOptions {
  std::int64_t launches_between = 0;                         ///< stand-ins in each piece
  FlashAttnOptions flash_attn = {.batch_invariant = false};  ///< which kernels attend
};

/// Layers that share one PersistentBatch.
class LayerStack {
 public:
  /// \param device   where everything lies
  /// \param sizes    of the largest step
  /// \param caches   of each layer; the same one may stand for several
  /// \param options  as above
  /// \throws Error   if there is no layer, a cache is not as `sizes` says, or there is not enough memory
  LayerStack(std::shared_ptr<Device> device,
             const PersistentBatchSizes& sizes,
             std::vector<std::shared_ptr<DeviceKvCache>> caches,
             const LayerStackOptions& options = {});
  LayerStack(const LayerStack&) = delete;             ///< its parts refer to it
  LayerStack& operator=(const LayerStack&) = delete;  ///< likewise

  PersistentBatch& batch() { return batch_; }  ///< what the launches read

  /// The parts of a step. A part looks at `shape` when it is called: what is recorded keeps the shape of the
  /// recording, and what is launched later gets that of its own step.
  StepParts parts();

  /// Sets the shape that parts are launched with from now on.
  void set_shape(const LaunchShape& shape) { shape_ = shape; }

  /// The largest shape that a graph of so many tokens and requests covers: what is recorded.
  /// \param num_tokens     padded
  /// \param num_reqs       padded
  /// \param max_query_len  1 for a graph of decodes
  LaunchShape shape_of_graph(std::int64_t num_tokens,
                             std::int64_t num_reqs,
                             std::int64_t max_query_len) const;

  /// A layer's output of the last step.
  /// \param layer       from 0
  /// \param num_tokens  T, of the launch
  /// \returns           [T, num_query_heads, head_size_v]
  Tensor output(std::size_t layer, std::int64_t num_tokens) const;
  /// A layer's log-sum-exp of the last step.
  /// \param layer       from 0
  /// \param num_tokens  T, of the launch
  /// \returns           [num_query_heads, T]
  Tensor lse(std::size_t layer, std::int64_t num_tokens) const;
  /// A layer's cache as it is now.
  KvCache cache(std::size_t layer) const { return caches_.at(layer)->copy_to_host(); }

  /// Sets every byte of the workspace: for tests that ask what is read of it.
  void fill_workspace(unsigned char value) { fill(workspace_, value); }
  /// Sets every byte of all outputs.
  void fill_outputs(unsigned char value);

 private:
  void launch_piece() const;
  void launch_attention(std::size_t layer) const;
  Tensor copy_of(const DeviceArray& array, const Shape& shape) const;
  void fill(const DeviceArray& array, unsigned char value) const;

  std::shared_ptr<Device> device_;
  KernelSet kernels_;
  LayerStackOptions options_;
  std::unique_ptr<LaunchedAttention> attention_;
  PersistentBatch batch_;
  std::vector<std::shared_ptr<DeviceKvCache>> caches_;
  std::vector<DeviceArray>
      outputs_;                    // of each layer [max_num_tokens, num_query_heads, head_size_v]
  std::vector<DeviceArray> lses_;  // of each layer [num_query_heads, max_num_tokens]
  DeviceArray activations_[2];     // [max_num_tokens, num_query_heads · head_size]
  DeviceArray workspace_;          // of the largest step of decodes
  LaunchShape shape_;
};

}  // namespace pagelab
