// paged_decode, rung 2: one warp a query row and head.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  warp w → row t = w / heads, head h = w % heads; a thread block of four warps takes four
//          neighbours. Lane i takes elements i, i + 32, i + 64, … of query, key, value and output:
//
//            element   0  1  2 … 31 │ 32 33 34 … 63 │ 64 …
//            lane      0  1  2 … 31 │  0  1  2 … 31 │  0 …
//
//          For a score each lane multiplies its elements, and the lanes add up their parts; then all
//          of them know the score, and compute m, l and p alike. For the output no lane needs another.
// Cost     2 · seq_len keys and seq_len values of one head a warp; the heads of a group and the rows
//          of a request read the same ones again. Five shuffles a score, one after the other: the
//          warp waits for them, and for each key before it begins the next.
// Change   rung 1 had a thread walk the head alone, and neighbouring threads read addresses far apart;
//          here neighbouring lanes read neighbouring elements, so every byte of a transaction is used.
//          On an H200, decoding 64 requests of 1,024 tokens (32 heads of 128, bfloat16) takes 6.2 ms
//          instead of 78; a prefill of 2,048 tokens 91 ms instead of 240.
// Order    a score's product is 32 chains of fma, lane i's over elements i, i + 32, … from +0; then a
//          butterfly: at distance d = 16, 8, 4, 2, 1 each lane adds the part of lane i xor d to its
//          own. All else is in the canonical order (1_naive.cuh). No product passes more roundings than
//          in one chain over the head, so error_bound's canonical precision holds here too. Neither
//          block size nor block table nor other rows change a bit.
// Expects  a valid step: block ids within the cache for every position below seq_len.
// Words    a warp is 32 threads that the hardware runs together, its lanes. __shfl_xor_sync(mask, x, d)
//          hands each lane the x of the lane whose number differs in the bits of d; all lanes of the
//          mask must call it. The lanes of a warp have one row, so they take every branch together.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// query · key, then scale, soft cap and bias.
template <typename Query, typename Stored>
__device__ float score_of(const PagedAttentionParams& params,
                          const QueryRow& row,
                          const Query* query,  // [head_size]
                          const Stored* key,   // [head_size]
                          std::int64_t key_position,
                          std::int64_t lane_idx) {
  const float k_scale = params.k_scales[row.kv_head_idx];
  float query_dot_key = 0.0f;
  for (std::int64_t i = lane_idx; i < params.head_size; i += kWarpSize) {
    const float query_element = load_as<float>(query[i]);
    const float key_element = cache_value<float>(key[i], k_scale);
    query_dot_key = fused_multiply_add(query_element, key_element, query_dot_key);
  }
  query_dot_key = butterfly_sum(query_dot_key);
  return scaled_score(params, row, query_dot_key, key_position);
}

template <typename Query, typename Stored>
__global__ void paged_decode_warp(PagedAttentionParams params) {
  // Which row and head this warp owns, and which elements this lane does.
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t warp_idx = flat_index / kWarpSize;
  const std::int64_t lane_idx = flat_index % kWarpSize;
  const std::int64_t head_idx = warp_idx % params.num_query_heads;
  const std::int64_t token_idx = warp_idx / params.num_query_heads;
  if (token_idx >= params.num_tokens) return;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;

  // Its part of every array.
  const std::int64_t row_idx = token_idx * params.num_query_heads + head_idx;
  float* output = params.output + row_idx * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  for (std::int64_t d = lane_idx; d < params.head_size_v; d += kWarpSize) output[d] = 0.0f;
  if (lane_idx == 0) *lse = minus_infinity;
  if (row.is_padding) return;
  const Query* query = static_cast<const Query*>(params.query) + row_idx * params.head_size;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);

  // First pass: the maximum of the scores.
  float m = minus_infinity;
  std::int64_t num_visible_keys = 0;
  for (std::int64_t first_position = 0; first_position < row.seq_len;
       first_position += params.block_size) {
    // Step 1: locate the block
    const std::int64_t logical_block = first_position / params.block_size;
    const std::int64_t physical_block = block_table_row[logical_block];
    const Stored* keys_of_block = keys + physical_block * params.key_strides.block;
    const std::int64_t tokens_left = row.seq_len - first_position;
    const std::int64_t tokens_in_block =
        tokens_left < params.block_size ? tokens_left : params.block_size;

    // Step 2: scores
    for (std::int64_t block_offset = 0; block_offset < tokens_in_block; ++block_offset) {
      const std::int64_t position = first_position + block_offset;
      if (!sees(params, row, position)) continue;
      const Stored* key = keys_of_block + block_offset * params.key_strides.token;
      const float score = score_of(params, row, query, key, position, lane_idx);
      m = larger(score, m);
      ++num_visible_keys;
    }
  }
  m = larger(sink, m);

  // Second pass: weights and values. A warp has no room to keep the scores, so it computes them
  // again; a lane's accumulators are its elements of the output array, zero so far, because a head
  // may have any size.
  float l = 0.0f;
  for (std::int64_t first_position = 0; first_position < row.seq_len;
       first_position += params.block_size) {
    const std::int64_t logical_block = first_position / params.block_size;
    const std::int64_t physical_block = block_table_row[logical_block];
    const Stored* keys_of_block = keys + physical_block * params.key_strides.block;
    const Stored* values_of_block = values + physical_block * params.value_strides.block;
    const std::int64_t tokens_left = row.seq_len - first_position;
    const std::int64_t tokens_in_block =
        tokens_left < params.block_size ? tokens_left : params.block_size;
    for (std::int64_t block_offset = 0; block_offset < tokens_in_block; ++block_offset) {
      const std::int64_t position = first_position + block_offset;
      if (!sees(params, row, position)) continue;
      const Stored* key = keys_of_block + block_offset * params.key_strides.token;
      const float score = score_of(params, row, query, key, position, lane_idx);

      // Step 3: softmax update
      const float p = softmax_weight(score, m);
      l = l + p;

      // Step 4: weighted values
      const Stored* value = values_of_block + block_offset * params.value_strides.token;
      const float v_scale = params.v_scales[row.kv_head_idx];
      for (std::int64_t d = lane_idx; d < params.head_size_v; d += kWarpSize) {
        const float value_element = cache_value<float>(value[d], v_scale);
        output[d] = fused_multiply_add(p, value_element, output[d]);
      }
    }
  }

  // Step 5: normalise
  if (num_visible_keys == 0) {
    if (lane_idx == 0) *lse = sink;  // the output is zero already
    return;
  }
  if (params.sinks != nullptr) l = l + softmax_weight(sink, m);
  for (std::int64_t d = lane_idx; d < params.head_size_v; d += kWarpSize) {
    output[d] = canonical_nan(output[d] / l);
  }
  if (lane_idx == 0) *lse = canonical_nan(m + exact_log(l));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_warp(const PagedAttentionParams& params) {
  constexpr unsigned int kThreadsPerCta = 128;
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  launch("paged_decode/2_warp", ctas_for(num_rows * kWarpSize, kThreadsPerCta), kThreadsPerCta,
         paged_decode_warp<Query, Stored>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
