// paged_decode, rung 3: one thread block a query row and head, with the scores in shared memory.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → row t = i / heads, head h = i % heads; four warps. For the scores each warp
//          takes every fourth key, its lanes the elements; for the weights each thread takes keys; for
//          the output each thread takes elements, and walks along the keys:
//
//            scores    key 0: warp 0   key 1: warp 1   key 2: warp 2   key 3: warp 3   key 4: warp 0 …
//            weights   key 0: thread 0   key 1: thread 1 …  key 127: thread 127   key 128: thread 0 …
//            output    element 0: thread 0   element 1: thread 1 …
//
// Cost     seq_len keys and seq_len values of one head; the heads of a group and the rows of a request
//          read the same ones again. 4 · max_seq_len bytes of shared memory, so a length that does not
//          fit is refused before the launch (57,980 keys at head size 128 on Hopper), and long before
//          that few thread blocks fit a multiprocessor at a time. A batch of few rows leaves most
//          multiprocessors idle. This is version 1 of vLLM's PagedAttention.
// Change   rung 2's warp had no room for its scores and computed each twice; here four warps compute each
//          once, in parallel, and keep them where all of them can read. Decoding 64 requests with 8192
//          keys each (32 heads of 128, 8 KV heads, bfloat16) takes 26.6 ms on an H200 instead of 49.9
//          (docs/measurements/2026-11-29-h200-decode-and-prefill.txt).
// Order    a score's product as in rung 2: 32 chains of fma and a butterfly. l: thread i's chain over
//          keys i, i + 128, … from +0, a butterfly in each warp, then a chain over the warps. All else
//          is in the canonical order (1_naive.cuh). No sum passes more roundings than one chain, so
//          error_bound's canonical precision holds here too. Neither block size nor block table nor
//          other rows change a bit.
// Expects  a valid step: block ids within the cache for every position below seq_len. max_seq_len no
//          smaller than any of seq_lens: a longer row would be NaN.
// Words    __shared__ and __syncthreads(): block_reduce/1_shared_memory.cuh. dynamic_shared_memory():
//          gpu/device/shared_memory.h.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Stored>
__global__ void paged_decode_cta(PagedAttentionParams params) {
  __shared__ float warp_parts[kDecodeWarps];
  float* query = dynamic_shared_memory<float>();  // [head_size]
  float* scores = query + params.head_size;       // [max_seq_len], then the weights

  // Which row and head this thread block owns, and which keys it sees.
  const std::int64_t row_idx = blockIdx.x;
  const std::int64_t head_idx = row_idx % params.num_query_heads;
  const std::int64_t token_idx = row_idx / params.num_query_heads;
  const std::int64_t thread_idx = threadIdx.x;
  const std::int64_t warp_idx = thread_idx / kWarpSize;
  const std::int64_t lane_idx = thread_idx % kWarpSize;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  const KeyRange visible = row.is_padding ? KeyRange{} : visible_range(params, row);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;

  // Its part of every array.
  float* output = params.output + row_idx * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  const bool is_too_long = row.seq_len > params.max_seq_len;
  if (visible.begin >= visible.end || is_too_long) {
    const float element = is_too_long ? float_from_bits(0x7fffffffu) : 0.0f;
    for (std::int64_t d = thread_idx; d < params.head_size_v; d += kDecodeThreads) {
      output[d] = element;
    }
    const float lse_of_nothing = row.is_padding ? minus_infinity : sink;
    if (thread_idx == 0) *lse = is_too_long ? element : lse_of_nothing;
    return;
  }
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];

  for (std::int64_t i = thread_idx; i < params.head_size; i += kDecodeThreads) {
    query[i] = query_element(params, row_idx * params.head_size + i);
  }
  __syncthreads();

  // A warp a key.
  for (std::int64_t position = visible.begin + warp_idx; position < visible.end;
       position += kDecodeWarps) {
    if (!sees(params, row, position)) continue;
    // Step 1: locate the block
    const CachePlace place = place_of(block_table_row, params.block_size, position);
    const Stored* key = keys + place.offset(params.key_strides);

    // Step 2: scores
    float query_dot_key = 0.0f;
    for (std::int64_t i = lane_idx; i < params.head_size; i += kWarpSize) {
      const float key_element = cache_value<float>(key[i], k_scale);
      query_dot_key = fused_multiply_add(query[i], key_element, query_dot_key);
    }
    query_dot_key = butterfly_sum(query_dot_key);
    if (lane_idx == 0) scores[position] = scaled_score(params, row, query_dot_key, position);
  }
  __syncthreads();

  // Step 3: softmax update
  // A thread a key, counted from the request's first, so that the order is the same in every window.
  const std::int64_t first_of_thread = visible.begin / kDecodeThreads * kDecodeThreads + thread_idx;
  float m = minus_infinity;
  for (std::int64_t position = first_of_thread; position < visible.end;
       position += kDecodeThreads) {
    if (position < visible.begin || !sees(params, row, position)) continue;
    m = larger(scores[position], m);
  }
  m = larger(sink, cta_larger(m, warp_parts));
  float l = 0.0f;
  for (std::int64_t position = first_of_thread; position < visible.end;
       position += kDecodeThreads) {
    if (position < visible.begin || !sees(params, row, position)) continue;
    const float p = softmax_weight(scores[position], m);
    scores[position] = p;
    l = l + p;
  }
  l = cta_sum(l, warp_parts);
  if (params.sinks != nullptr) l = l + softmax_weight(sink, m);

  // A thread an element of the output; neighbours read neighbouring elements of a value.
  for (std::int64_t d = thread_idx; d < params.head_size_v; d += kDecodeThreads) {
    // Step 4: weighted values
    float acc = 0.0f;
    for (std::int64_t position = visible.begin; position < visible.end; ++position) {
      if (!sees(params, row, position)) continue;
      const CachePlace place = place_of(block_table_row, params.block_size, position);
      const Stored* value = values + place.offset(params.value_strides);
      const float value_element = cache_value<float>(value[d], v_scale);
      acc = fused_multiply_add(scores[position], value_element, acc);
    }

    // Step 5: normalise
    output[d] = canonical_nan(acc / l);
  }
  if (thread_idx == 0) *lse = canonical_nan(m + exact_log(l));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_cta(const PagedAttentionParams& params) {
  const char* const name = "paged_decode/3_cta";
  require_max_seq_len(name, params);
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  const std::int64_t shared_bytes = (params.head_size + params.max_seq_len) * 4;
  require_shared_bytes(name, params, shared_bytes + kDecodeWarps * 4,
                       "Rung 4 takes any length: it splits the context.");
  launch(name, ctas_for(num_rows, 1), kDecodeThreads, paged_decode_cta<Stored>,
         with_dtypes<Query, Stored>(params), static_cast<std::size_t>(shared_bytes));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
