// paged_decode, rung 1: one thread a query row and head.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread i → row t = i / heads, head h = i % heads; a thread block takes 128 neighbours:
//
//            i       0      1      2      3      4      5    …    3 query heads:
//            (t, h)  (0,0)  (0,1)  (0,2)  (1,0)  (1,1)  (1,2)  …
//
//          Each thread walks its request's row of the block table alone. With block_size 4 and
//          seq_len 6:
//
//            block_table[r] = [7, 2]     positions 0 1 2 3 → block 7,  4 5 → block 2
//
// Cost     2 · seq_len keys and seq_len values of one head a thread; the heads of a group and the
//          rows of a request read the same ones again. Neighbouring threads read addresses far
//          apart, so most of every memory transaction is thrown away: slow, and simple.
// Order    the canonical one: chains over increasing index, the maximum first, the weights in a
//          second pass. The bits are those of reference/attention/paged.cpp in float.
// Expects  a valid step: block ids within the cache for every position below seq_len.
// Words    __global__ marks a kernel: a function that every thread of the launch runs; __device__ one
//          that threads call. A launch is a grid of thread blocks ("cta" in names, so that "block" is
//          a block of the cache): blockIdx says which of them, blockDim how many threads each has,
//          threadIdx which of its threads this is. PAGELAB_TARGET keeps the GPU's and the simulator's
//          copies of this code apart.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
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
                          std::int64_t key_position) {
  const float k_scale = params.k_scales[row.kv_head_idx];
  float query_dot_key = 0.0f;
  for (std::int64_t i = 0; i < params.head_size; ++i) {
    const float query_element = load_as<float>(query[i]);
    const float key_element = cache_value<float>(key[i], k_scale);
    query_dot_key = fused_multiply_add(query_element, key_element, query_dot_key);
  }
  return scaled_score(params, row, query_dot_key, key_position);
}

template <typename Query, typename Stored>
__global__ void paged_decode_naive(PagedAttentionParams params) {
  // Which row and head this thread owns.
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t head_idx = flat_index % params.num_query_heads;
  const std::int64_t token_idx = flat_index / params.num_query_heads;
  if (token_idx >= params.num_tokens) return;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;

  // Its part of every array.
  const std::int64_t row_idx = token_idx * params.num_query_heads + head_idx;
  float* output = params.output + row_idx * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  for (std::int64_t d = 0; d < params.head_size_v; ++d) output[d] = 0.0f;
  *lse = minus_infinity;
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
      const float score = score_of(params, row, query, key, position);
      m = larger(score, m);
      ++num_visible_keys;
    }
  }
  m = larger(sink, m);

  // Second pass: weights and values. A thread has no room to keep the scores, so it computes them
  // again; its accumulator is its row of the output array, zero so far, because a head may have any
  // size.
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
      const float score = score_of(params, row, query, key, position);

      // Step 3: softmax update
      const float p = softmax_weight(score, m);
      l = l + p;

      // Step 4: weighted values
      const Stored* value = values_of_block + block_offset * params.value_strides.token;
      const float v_scale = params.v_scales[row.kv_head_idx];
      for (std::int64_t d = 0; d < params.head_size_v; ++d) {
        const float value_element = cache_value<float>(value[d], v_scale);
        output[d] = fused_multiply_add(p, value_element, output[d]);
      }
    }
  }

  // Step 5: normalise
  if (num_visible_keys == 0) {
    *lse = sink;  // the output is zero already
    return;
  }
  if (params.sinks != nullptr) l = l + softmax_weight(sink, m);
  for (std::int64_t d = 0; d < params.head_size_v; ++d) {
    output[d] = canonical_nan(output[d] / l);
  }
  *lse = canonical_nan(m + exact_log(l));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_naive(const PagedAttentionParams& params) {
  constexpr unsigned int kThreadsPerCta = 128;
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  launch("paged_decode/1_naive", ctas_for(num_rows, kThreadsPerCta), kThreadsPerCta,
         paged_decode_naive<Query, Stored>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
