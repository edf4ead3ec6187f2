/// \file
/// FLASH_ATTN: one varlen call for the whole batch, whatever its requests do.
///
/// What it keeps of vLLM's: one call a layer for decodes and prefills mixed, aligned bottom right; the batch
/// described by query_start_loc, seq_lens, the block table and the two longest lengths; split-KV for a batch of
/// decodes, with max_num_splits and batch invariance to switch it off. What it leaves out: the schedule that
/// FlashAttention-3 computes ahead, Hopper's own instructions (the kernels are those of
/// gpu/kernels/paged_prefill and paged_decode), decode context parallelism, and a 16-bit output (it is float32).
/// It accepts more than the real one: every dtype, every head size up to 256, and every variant.
///
/// Which kernel runs, in the order of preference:
///
///     batch_invariant               paged_prefill/3_pipelined, on tensor cores; else 1_tiled
///     else some query exceeds 1     the same
///     else: all are 1 (or 0) long   split-KV: paged_decode/7_tensor_cores; else 6_pipelined; else 5_grouped
///
/// A cascade is two such calls and a merge: the prefix as one request of all queries, whose table is row 0, not causal;
/// then the batch with its table from the column after the prefix on, and with shorter sequences
/// (reference/attention/cascade.h); then merge_states. The prefix's kernel, where the batch's is split-KV:
/// cascade/1_prefix; else, or where that does not take the types, paged_prefill's as above.
///
/// Differs: batch_invariant, which vLLM has as well, is on unless switched off. Without it the bits of a decoding
/// request's row depend on whether another request of the batch prefills: the kernels sum in other orders. With
/// it they depend on nothing but the request, and a batch of decodes pays for that: each fills one row of a tile.
/// \source  FlashAttention-2 (Dao 2023); vLLM v1/attention/backends/flash_attn.py
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/backends/launched_attention.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// What a user may choose.
struct FlashAttnOptions {
  /// Where bits may depend on the batch: 0, a batch of decodes is split at every 512 keys; 1, nothing is split.
  std::int64_t max_num_splits = 0;
  /// The same bits for a request in every batch. It implies max_num_splits = 1. Otherwise vLLM's rule holds.
  bool batch_invariant = true;
};

/// What the call gets besides the arrays of CommonAttentionMetadata.
/// \source vLLM v1/attention/backends/flash_attn.py, FlashAttentionMetadata
struct FlashAttnMetadata {
  std::int64_t max_query_len = 0;   ///< longest query; 1 for a batch of decodes
  std::int64_t max_seq_len = 0;     ///< longest sequence
  std::int64_t max_num_splits = 0;  ///< 0: as the kernel likes; 1: none
};

/// The metadata of a batch.
/// \throws Error  if max_num_splits is neither 0 nor 1
FlashAttnMetadata build_flash_attn_metadata(const CommonAttentionMetadata& common,
                                            const FlashAttnOptions& options);

/// The same of a batch that is known by its longest query and sequence only.
/// \throws Error  if max_num_splits is neither 0 nor 1
FlashAttnMetadata flash_attn_metadata(std::int64_t max_query_len,
                                      std::int64_t max_seq_len,
                                      const FlashAttnOptions& options);

/// The one kernel of a call.
/// \param kernels   of the device
/// \param metadata  of the batch
/// \param sizes     of the batch: launch_sizes() suffices
/// \throws Error    if none takes the batch
AttentionRung flash_attn_rung(const KernelSet& kernels,
                              const FlashAttnMetadata& metadata,
                              const PagedAttentionParams& sizes);

/// Its attention over persistent arrays: one launch (two where it splits), whatever the batch.
/// \param kernels  of the device
/// \param options  as above
std::unique_ptr<LaunchedAttention> launched_flash_attn(const KernelSet& kernels,
                                                       const FlashAttnOptions& options);

/// The backend FLASH_ATTN on a device.
/// \param device   where the cache lies and the kernels run
/// \param options  as above
/// \throws Error   if max_num_splits is neither 0 nor 1. Its impl refuses heads of more than 256 elements
std::unique_ptr<AttentionBackend> make_flash_attn_backend(std::shared_ptr<Device> device,
                                                          const FlashAttnOptions& options = {});

}  // namespace pagelab
