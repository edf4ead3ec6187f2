/// \file
/// TRITON_ATTN: one kernel for any mix of prefill and decode.
///
/// What it keeps of vLLM's: the kernel of gpu/kernels/unified, whose rows are pairs of a query token and a head
/// of the group, so that one launch serves every batch without reordering; its two forms, and the rule that
/// chooses between them: the segmented (3-D) one for batches of decodes alone that have too few requests to fill
/// a GPU, the other (2-D) one for all else.
///
/// What differs: the two forms add up in different orders, so their bits differ, and by vLLM's rule it depends
/// on a request's neighbours which of them it gets. Here the option batch_invariant, which vLLM has as well, is
/// on unless switched off: then every batch takes the 2-D form, and a row's bits are its own. ALiBi is −slope ·
/// |difference|, as everywhere in pagelab; the real kernel adds slope · (key − context), which moves the LSE.
/// What vLLM's lacks and this has: float64 and e5m2 caches, heads of fewer than 32 elements, block sizes that
/// are no multiple of 16. What it leaves out: tensor cores, per-token scales and int4 caches, the chunked window
/// and R-SWA, fused fp8 output.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/backends/persistent_batch.h"
#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// How TRITON_ATTN runs.
struct TritonAttnOptions {
  /// Whether every batch takes the 2-D form. Otherwise vLLM's rule holds, and bits depend on the batch.
  bool batch_invariant = true;
};

/// Thread blocks of the 2-D form that are enough for a GPU.
/// \source vLLM, v1/attention/backends/triton_attn.py, MIN_LAUNCH_GRID_SIZE_2D
inline constexpr std::int64_t kMinLaunchGridSize2D = 128;

/// vLLM's rule: whether a batch takes the segmented form.
/// \param shape         of the batch
/// \param num_kv_heads  KV heads
/// \returns             true if every request has at most one query token, and there are no more than
///                      128 / num_kv_heads requests
/// \source vLLM, v1/attention/ops/triton_unified_attention.py, unified_attention; Differs: without CUDA graphs,
///         whose capture sizes move the threshold
bool takes_segmented_form(const LaunchShape& shape, std::int64_t num_kv_heads);

/// The backend TRITON_ATTN on a device. It accepts every dtype, layout and variant of the contract, heads of up
/// to 256 elements, and groups of up to 128; its output is float32.
/// \param device   where the cache lies and the kernels run
/// \param options  how it runs
std::unique_ptr<AttentionBackend> make_triton_attn_backend(std::shared_ptr<Device> device,
                                                           const TritonAttnOptions& options = {});

}  // namespace pagelab
