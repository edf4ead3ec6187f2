/// \file
/// How much of a model's steps can be recorded in a CUDA graph: what each backend says, and the minimum over all of
/// them, because a graph of the whole forward pass holds every layer's attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// "UNIFORM_BATCH": the name as vLLM's messages print it.
std::string to_string(AttentionCGSupport support);

/// The level of this name. \throws Error for another one, with those that there are
AttentionCGSupport cudagraph_support_of(const std::string& name);

/// What a row's backend can record, for one question: what its class says, or what its rule computes. A row that
/// says nothing supports nothing.
/// \param facts     the row
/// \param question  GPU, layer and model
/// \param run       settings of the run that only this depends on
/// \source          vLLM v1/attention/backend.py, AttentionMetadataBuilder.get_cudagraph_support
AttentionCGSupport cudagraph_support(const BackendFacts& facts,
                                     const SelectionQuestion& question,
                                     const CudagraphRun& run = {});

/// One attention group: layers with the same backend and the same kind of cache.
struct GroupCGSupport {
  AttentionCGSupport support = AttentionCGSupport::kNever;  ///< of its backend
  std::string backend;                                      ///< its class, "FlashInferBackend"
};

/// What the whole model can record.
struct MinCGSupport {
  AttentionCGSupport support = AttentionCGSupport::kAlways;  ///< of the weakest group
  std::optional<std::string> backend = {};  ///< the first group that weak; none if all are ALWAYS
};

/// The minimum over a model's attention groups. A model without attention can always be recorded.
/// \source vLLM v1/worker/gpu_model_runner.py, _check_and_update_cudagraph_mode
MinCGSupport min_cudagraph_support(const std::vector<GroupCGSupport>& groups);

}  // namespace pagelab
