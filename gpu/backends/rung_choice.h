/// \file
/// Which rung of a ladder a backend launches: of those that it names, the first that takes the batch.
#pragma once

#include <string>
#include <vector>

#include "gpu/kernels/kernel_set.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {

/// A kernel of paged_decode or paged_prefill, in all types.
using AttentionRung = TableRung<PagedAttentionParams>;

/// The split-KV kernels for rows of a single query, best first: paged_decode/7_tensor_cores, 6_pipelined, which
/// takes a query of any type, and 5_grouped, which takes everything.
std::vector<AttentionRung> split_kv_rungs(const KernelSet& kernels);
/// The kernels for queries of any length, best first: paged_prefill/3_pipelined on tensor cores, then 1_tiled.
std::vector<AttentionRung> varlen_rungs(const KernelSet& kernels);
/// The kernels for the shared prefix of a cascade, best first: cascade/1_prefix on tensor cores, which packs query heads
/// and splits the keys, then those for queries of any length.
std::vector<AttentionRung> prefix_rungs(const KernelSet& kernels);

/// Floats of workspace that a launch of a rung needs.
inline std::int64_t floats_of(const AttentionRung& rung, const PagedAttentionParams& params) {
  return rung.workspace_floats == nullptr ? 0 : rung.workspace_floats(params);
}

/// \param backend  name for the message
/// \param rungs    the wanted ones, best first
/// \param sizes    of the batch: launch_sizes() suffices
/// \returns        the first that takes it
/// \throws Error   with the reason of every rung, if none does
AttentionRung first_that_takes(const std::string& backend,
                               const std::vector<AttentionRung>& rungs,
                               const PagedAttentionParams& sizes);

}  // namespace pagelab
