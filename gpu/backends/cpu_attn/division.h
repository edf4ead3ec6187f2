/// \file
/// How a call is divided into tasks. What a task is depends on its own request's lengths alone, never on
/// the batch or on the number of threads: so no bit of a result does.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {

/// Rows whose keys are divided among several tasks.
struct Merge {
  Task first_part;         ///< the others lie after it in Params::partial_*
  std::int64_t num_parts;  ///< at least 2
};

/// All tasks of a call.
struct Division {
  std::vector<Task> tasks;            ///< in the order in which they are best begun
  std::vector<Merge> merges;          ///< to be done when all tasks are
  std::int64_t num_partial_rows = 0;  ///< rows of Params::partial_*
  double num_products = 0;            ///< query · key, an upper bound: what the call costs
};

/// Divides a call. A request with at most kRowsPerTask rows a KV head is a task for each
/// kKeysPerPartition of its keys; one with more rows has tasks enough, and is a task for each
/// kRowsPerTask of them.
Division divide(const Params& params);

}  // namespace pagelab::cpu_attn
