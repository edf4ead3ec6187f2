/// \file
/// A model that runs on a device as launches of kernels and nothing else, so that its steps can be recorded. The engine
/// records, replays and samples by this interface; what the model launches is gpu/backends' own.
///
///     at start      model.set_graph_shape(...);  graphs.capture(graph, model.parts());     nothing runs
///     each step     model.update(batch);         in place, padded to its graph
///                   graphs.replay(graph);        or run_eagerly(model.parts())
///                   model.logits();
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/runtime/device.h"
#include "gpu/runtime/step_parts.h"
#include "reference/registry/backend.h"

namespace pagelab {

class Llama;
struct LlamaBatch;

/// The largest step that a model's arrays have room for.
struct DeviceModelSizes {
  std::int64_t max_num_tokens = 0;      ///< padding included
  std::int64_t max_num_reqs = 0;        ///< padding included
  std::int64_t max_blocks_per_req = 0;  ///< columns of the block table, in every step
  KvCacheSpec cache;                    ///< of each layer
};

/// A model in a device's memory, with a cache for each of its layers.
class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  /// Where it lies.
  virtual const std::shared_ptr<Device>& device() const = 0;

  /// The parts of a step, cut at the attention layers. They refer to this model.
  virtual StepParts parts() = 0;

  /// Until the next update, parts launch for the largest step that a graph of so many covers: what is recorded.
  /// \param num_tokens     padded
  /// \param num_reqs       padded
  /// \param max_query_len  1 for a graph of decodes
  virtual void set_graph_shape(std::int64_t num_tokens,
                               std::int64_t num_reqs,
                               std::int64_t max_query_len) = 0;

  /// Writes a step's tokens and metadata in place; parts that are launched from now on are of its shape.
  /// \param padded   the step, padded to its graph
  /// \throws Error   if it is not consistent or does not fit; nothing is written then
  virtual void update(const LlamaBatch& padded) = 0;

  /// Of the step that ran, what batch.logits_indices asked for.
  /// \returns  float64 [L, vocab_size]
  virtual Tensor logits() = 0;
};

/// A backend whose attention such a model can launch: one that runs kernels.
class DeviceModelBackend : public AttentionBackend {
 public:
  /// Copies a model to the backend's device.
  /// \param model   is read, and not kept
  /// \param sizes   of the largest step
  /// \throws Error  if a size is below 1, or there is not enough memory
  virtual std::unique_ptr<DeviceModel> make_device_model(const Llama& model,
                                                         const DeviceModelSizes& sizes) const = 0;
};

}  // namespace pagelab
