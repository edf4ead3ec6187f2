/// \file
/// Whether a step's attention is computed in two parts: once for all requests over the prefix that they share, and
/// once for each over what is its own. Then the prefix is read once, and not once a request; but the parts
/// have to be merged, and fewer, larger pieces of work may keep fewer multiprocessors busy.
///
/// Differs: vLLM 0.32.0 has no cascade attention any more. This is the rule of 0.20.2, unchanged until 0.31.0, the last
/// release with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/step/scheduled_request.h"

namespace pagelab {

/// What the decision reads of the model, the GPU and the run.
struct CascadeSetting {
  std::int64_t num_query_heads = 0;  ///< query heads
  std::int64_t num_kv_heads = 0;     ///< KV heads; they divide the query heads
  bool use_alibi = false;            ///< biases that grow with the distance
  bool use_sliding_window = false;   ///< queries that see no further than a window
  bool use_local_attention = false;  ///< queries that see their own chunk alone
  std::int64_t num_sms = 132;        ///< multiprocessors of the GPU
  std::int64_t dcp_world_size = 1;   ///< ranks that share each request's tokens
};

/// The decision, and why.
struct CascadeDecision {
  bool use = false;    ///< whether cascade is used
  std::string reason;  ///< one sentence
  /// Waves of work on the GPU, where the decision compared them; see flash_attn_cascade_decision.
  std::optional<std::int64_t> cascade_waves = {};
  std::optional<std::int64_t> decode_waves = {};  ///< the same without cascade
};

/// FlashAttention's rule. Where all requests decode one token and query heads share KV heads, it counts how often
/// the GPU's multiprocessors have to be filled, in tiles of 128 queries by 128 keys:
///
///     cascade  ceil(num_query_heads · ceil(num_reqs / 128) / num_sms) · ceil(prefix / 128)
///     decode   ceil(num_reqs · num_kv_heads · ceil(heads per KV head / 128) · ceil(prefix / 128) / num_sms)
///
/// Cascade gives each query head's prefix pass to one multiprocessor from its first key to its last, while
/// FlashDecoding deals the keys out. So a long prefix alone does not make it pay; many requests do.
/// \param common_prefix_len  tokens that all requests share
/// \param query_lens         [num_reqs] query tokens of each
/// \param setting            model, GPU and run
/// \throws Error             if a number is out of range
/// \source                   vLLM 0.20.2, v1/attention/backends/flash_attn.py, use_cascade_attention
CascadeDecision flash_attn_cascade_decision(std::int64_t common_prefix_len,
                                            const std::vector<std::int64_t>& query_lens,
                                            const CascadeSetting& setting);

/// Whether FLASH_ATTN uses cascade: flash_attn_cascade_decision without the reasons.
bool use_cascade_attention(std::int64_t common_prefix_len,
                           const std::vector<std::int64_t>& query_lens,
                           const CascadeSetting& setting);

/// The prefix that the worker gives to the attention call: the blocks that the scheduler counted, but no further than
/// the least computed request, because the prefix pass has no mask and every request must keep a suffix;
/// in whole blocks; and 0 where the backend's rule says no.
/// \param num_common_prefix_blocks  what the scheduler counted
/// \param block_size                tokens a block
/// \param requests                  the batch
/// \param setting                   model, GPU and run
/// \returns                         tokens; 0: no cascade
/// \throws Error                    if a number is out of range
/// \source                          vLLM 0.20.2, v1/worker/gpu_model_runner.py, _compute_cascade_attn_prefix_len
std::int64_t cascade_prefix_len(std::int64_t num_common_prefix_blocks,
                                std::int64_t block_size,
                                const std::vector<ScheduledRequest>& requests,
                                const CascadeSetting& setting);

/// Leading blocks that are the same in all rows. The scheduler's own count, by references, may be larger: blocks that
/// are still held by a request outside the batch count there, too.
/// \param rows  [num_reqs] block ids of each request
/// \returns     0 for an empty batch
std::int64_t common_prefix_blocks(const std::vector<std::vector<std::int32_t>>& rows);

/// What a decode step reads and writes of keys, values and partial results.
struct CascadeTraffic {
  std::int64_t flat_bytes = 0;     ///< prefix and own tokens of every request
  std::int64_t cascade_bytes = 0;  ///< the prefix once, own tokens, and the partial results
};

/// The bytes of one layer, if each request decodes one token. The partial results, an output in float32 and a
/// log-sum-exp for each head, are written by both passes and read by the merge.
/// \param num_reqs       requests
/// \param prefix_len     tokens that they share
/// \param own_len        tokens that each has besides
/// \param setting        of it, the heads
/// \param head_size      elements of a head
/// \param element_size   bytes of a cached element
/// \throws Error         if a number is out of range
CascadeTraffic cascade_traffic(std::int64_t num_reqs,
                               std::int64_t prefix_len,
                               std::int64_t own_len,
                               const CascadeSetting& setting,
                               std::int64_t head_size,
                               std::int64_t element_size);

}  // namespace pagelab
