/// \file
/// NAIVE: the first CUDA kernels behind the interface of a backend.
///
/// What it keeps of vLLM: the division of an attention layer's work into a cache write
/// (`do_kv_cache_update`, vLLM's reshape_and_cache) and a forward pass that reads the paged cache
/// through the block table; a cache that stays in device memory from step to step. What it leaves
/// out: everything that makes a backend fast, and a metadata builder (the batch is copied to the
/// device as it is). No backend of vLLM's registry corresponds to it.
#pragma once

#include <memory>

#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// The backend NAIVE on a device. It accepts every dtype, layout and variant of the contract; its
/// output is float32, bit for bit that of REFERENCE_FLOAT.
/// \param device          where the cache lies and the kernels run
/// \param attention_rung  which rung of gpu/kernels/paged_decode attends: 1, or a later one for tests
///                        and measurements; its output has other bits, and what it cannot take it
///                        refuses when it is to attend
/// \throws Error          if there is no such rung
std::unique_ptr<AttentionBackend> make_naive_backend(std::shared_ptr<Device> device,
                                                     int attention_rung = 1);

/// Any kernel that attends, behind the same interface and with the same cache write: how tests and
/// measurements run a rung of a ladder. Its output is float32.
/// \param device  where the cache lies and the kernels run
/// \param rung    compiled for that device (kernels_of)
std::unique_ptr<AttentionBackend> make_backend_of_rung(std::shared_ptr<Device> device,
                                                       const TableRung<PagedAttentionParams>& rung);

}  // namespace pagelab
