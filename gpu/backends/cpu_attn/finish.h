/// \file
/// Step 5 of the fast CPU attention: what becomes of a row when its keys have been seen. It is normalised
/// and goes to the output, or, where the request's keys are divided, waits to be merged.
#pragma once

#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {

/// Finishes a row of a task.
/// \param params  the call; its output and LSE, or its partial results, are written
/// \param task    the row's
/// \param scratch holds the row's m, l and visible keys
/// \param row     of the task
/// \param acc     the sum of its first element
/// \param stride  floats from one element's sum to the next one's
void finish_row(const Params& params,
                const Task& task,
                Scratch& scratch,
                std::int64_t row,
                const float* acc,
                std::int64_t stride);

/// Merges the parts of one request and KV head, in ascending order, and normalises.
/// \param params    the call
/// \param task      the first part; the others follow in Params::partial_*
/// \param num_parts how many
/// \source          Online softmax (Milakov and Gimelshein 2018), section 3.1: the merge of two parts
void merge_parts(const Params& params, const Task& task, std::int64_t num_parts);

}  // namespace pagelab::cpu_attn
