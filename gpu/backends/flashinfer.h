/// \file
/// FLASHINFER: a plan for the step, then a decode and a prefill wrapper that run it.
///
/// What it keeps of vLLM's: decodes (one query) and prefills (the others) go to different kernels; the pages of
/// each wrapper's requests as paged_kv_indptr, paged_kv_indices and paged_kv_last_page_len, which is all that the
/// kernels get (no block table, no seq_lens); batches that are not causal go to the prefill wrapper as a whole.
/// The decode wrapper launches paged_decode/7_tensor_cores, else 6_pipelined, else 5_grouped; the prefill wrapper
/// paged_prefill/3_pipelined, on tensor cores, else 1_tiled. A request's bits are the same in every batch.
///
/// A cascade has two levels (flashinfer_plan.h), as in FlashInfer's MultiLevelCascadeAttentionWrapper: level 0 are
/// wrappers over the shared pages, whose queries are one request: for decodes cascade/1_prefix, which packs the heads of
/// a group as FlashInfer's does, for others paged_prefill's kernels as above; level 1 are both wrappers over the pages
/// after them; the merge is merge_states.
///
/// What it leaves out: the division into work units (flashinfer_plan.h says why), the TRTLLM and XQA kernels,
/// CUDA graphs, cascades of more than two levels, and 16-bit outputs. It accepts more than the real one: every dtype, every head size up
/// to 256, every page size, every variant. Differs:
/// - vLLM reorders the batch first, so that each wrapper has a slice of it. Here each wrapper's queries are
///   gathered and its results scattered.
/// - vLLM plans once a step for all layers; here every layer's forward plans, because it is what gets the batch.
/// - FlashInfer's LSE is in base 2, [T, num_query_heads]; here it is natural, [num_query_heads, T], as the kernels
///   compute it, and no conversion rounds it.
/// \source  FlashInfer (Ye et al. 2025); vLLM v1/attention/backends/flashinfer.py
#pragma once

#include <memory>

#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// The backend FLASHINFER on a device. Its impl refuses heads of more than 256 elements.
/// \param device  where the cache lies and the kernels run
std::unique_ptr<AttentionBackend> make_flashinfer_backend(std::shared_ptr<Device> device);

}  // namespace pagelab
