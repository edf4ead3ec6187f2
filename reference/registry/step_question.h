/// \file
/// What a layer that pagelab runs asks of the registry: the record of a step's arrays and options, as
/// vLLM's layer would write it.
#pragma once

#include <string>

#include "reference/contract/attention_step.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// How a registry calls the dtype of a cache: "auto" if it is that of the activations.
std::string kv_cache_dtype_name(DType cache, DType activations);

/// The record of a step: its sizes, types, and the variant. The block size is the step's own, so it counts
/// as one that the user gave; the scales of an fp8 cache count as per head if there is more than one.
/// The record has no field for ALiBi, for windows to the right and for values of another width than keys:
/// vLLM's selection does not look at them. A soft cap is read from the model's configuration.
/// \param step  read as it stands
/// \returns     a question whose GPU is left open
SelectionQuestion question_of_step(const AttentionStep& step);

}  // namespace pagelab
