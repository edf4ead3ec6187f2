/// \file
/// How long one step takes: the CPU chooses its requests, then builds its arrays, then the GPU computes it. An estimate
/// by a handful of measured lines and rooflines (timeline_costs.h), not a simulation of the GPU.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/engine/cudagraph/cudagraph_mode.h"
#include "simulator/engine/step/scheduled_request.h"
#include "simulator/engine/timeline/served_model.h"
#include "simulator/engine/timeline/timeline_costs.h"

namespace pagelab {

/// What the GPU has to do in a step, in one layer where it says so.
struct StepWork {
  std::int64_t num_reqs = 0;  ///< requests
  std::int64_t num_padded_tokens =
      0;                         ///< rows of every matrix product, the graph's padding included
  std::int64_t num_decodes = 0;  ///< requests with one query token
  std::int64_t decode_kv_tokens = 0;    ///< tokens whose keys and values they read
  std::int64_t num_extends = 0;         ///< requests with more
  std::int64_t extend_kv_tokens = 0;    ///< tokens whose keys and values they read
  std::int64_t extend_pairs = 0;        ///< their pairs of a query and a key that it sees
  std::int64_t cascade_prefix_len = 0;  ///< tokens read once for all decodes
  CUDAGraphMode graph_mode = CUDAGraphMode::kNone;  ///< what is replayed
};

/// Adds up a batch. The padding, the cascade prefix and the graph are the caller's.
StepWork work_of(std::span<const ScheduledRequest> requests);

/// A step's times, in microseconds.
struct StepCost {
  double schedule_us = 0;   ///< CPU: schedule() and update_from_output()
  double metadata_us = 0;   ///< CPU: building the arrays
  double gpu_us = 0;        ///< the longer one of computing and launching
  double matrices_us = 0;   ///< GPU: all matrix products
  double attention_us = 0;  ///< GPU: attention in all layers
  double launch_us = 0;     ///< CPU: handing the GPU its work, while it computes
};

/// Estimates a step.
/// \param work   what is to be done
/// \param model  the model
/// \param costs  the figures
StepCost estimate(const StepWork& work, const ServedModel& model, const TimelineCosts& costs);

/// Bytes of keys and values that the decodes of a step read, in all layers.
/// \param work          of the step
/// \param model         the model
/// \param with_cascade  read the common prefix once, not once a request
std::int64_t decode_bytes(const StepWork& work, const ServedModel& model, bool with_cascade);

}  // namespace pagelab
