// cache_write, rung 1: one thread an element.
//
// Problem  cache[slot_mapping[t]][h] = round(rows[t][h] / scale[h]): each new token's key (or
//          value) goes to its slot, rounded to the cache's type. Only fp8 divides by a scale.
// Shapes   rows [num_tokens, num_kv_heads, head_size], slot_mapping [num_tokens]
//          cache [num_blocks, block_size, num_kv_heads, head_size], through strides
// Mapping  thread i → element i of rows; a thread block of 256 threads takes 256 neighbours:
//
//            i      0  1  …         8  9  …         16 17 …           2 heads of 8 elements
//            rows   |t0 h0: e0 e1 … |t0 h1: e0 e1 … |t1 h0: e0 e1 …   i = (t · heads + h) · 8 + e
//
//          With block_size 4 and slot_mapping [18, …], token 0 goes to block 18 / 4 = 4, offset
//          18 % 4 = 2.
// Cost     each element read and written once, and a slot of 8 bytes a thread; memory limits it.
// Differs: vLLM's kernel stores keys and values in one launch, a thread block a token; here each
//          side is a launch of its own, so that one kernel serves head_size and head_size_v.
// Expects  slots within the cache, none of them twice.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/cache_write/params.h"
#include "reference/cache/block_table.h"
#include "reference/cache/cache_element.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Source, typename Stored>
__global__ void cache_write_naive(CacheWriteParams params) {
  const Source* rows = static_cast<const Source*>(params.rows);
  Stored* cache = static_cast<Stored*>(params.cache);

  // Which element this thread owns: element of head of token, the element running fastest.
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t element_idx = flat_index % params.head_size;
  const std::int64_t kv_head_idx = flat_index / params.head_size % params.num_kv_heads;
  const std::int64_t token_idx = flat_index / params.head_size / params.num_kv_heads;
  if (token_idx >= params.num_tokens) return;

  // Step 1: locate the block
  const std::int64_t slot = params.slot_mapping[token_idx];
  if (slot == kNoSlot) return;
  const std::int64_t physical_block = slot / params.block_size;
  const std::int64_t block_offset = slot % params.block_size;
  const std::int64_t cache_index = physical_block * params.cache_strides.block +
                                   block_offset * params.cache_strides.token +
                                   kv_head_idx * params.cache_strides.head + element_idx;

  // Step 2: round and store
  const Source element = rows[flat_index];
  const float scale = params.scales[kv_head_idx];
  cache[cache_index] = cache_element<Stored>(element, scale);
}

// Stores one side, keys or values.
template <typename Source, typename Stored>
void launch_cache_write_naive(const CacheWriteParams& params) {
  constexpr unsigned int kThreadsPerCta = 256;
  const std::int64_t num_elements = params.num_tokens * params.num_kv_heads * params.head_size;
  if (num_elements == 0) return;
  launch("cache_write/1_naive", ctas_for(num_elements, kThreadsPerCta), kThreadsPerCta,
         cache_write_naive<Source, Stored>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
