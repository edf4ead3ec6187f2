/// \file
/// Rows that a tensor-core kernel does not get right in tiles: those with an infinity or a NaN on the way.
/// A hidden key has the weight 0, but 0 · ∞ and 0 · NaN are NaN, and tensor cores multiply whole tiles. So
/// where a row's sums are not finite, the row is computed again, key by key.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// One row in the canonical order, as paged_decode/1_naive.cuh has it, by several threads: each computes
/// every score, and stores elements of its own. Rows without a visible key come out as 0 and −∞ or the sink.
/// By value, and not inlined, so that a kernel that hardly ever calls it keeps its registers to itself.
/// \param params    the step
/// \param row       no padding
/// \param part      this thread's number
/// \param num_parts threads that share the row
template <typename Query, typename Stored>
[[gnu::noinline]] __device__ void attend_exceptional_row(PagedAttentionParams params,
                                                         QueryRow row,
                                                         std::int64_t part,
                                                         std::int64_t num_parts) {
  const std::int64_t row_idx = row.token_idx * params.num_query_heads + row.head_idx;
  const Query* query = static_cast<const Query*>(params.query) + row_idx * params.head_size;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[row.head_idx] : minus_infinity;
  float* output = params.output + row_idx * params.head_size_v;
  for (std::int64_t d = part; d < params.head_size_v; d += num_parts) output[d] = 0.0f;

  // First the maximum, then weights and values.
  float m = minus_infinity;
  float l = 0.0f;
  bool sees_a_key = false;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t position = 0; position < row.seq_len; ++position) {
      if (!sees(params, row, position)) continue;
      sees_a_key = true;
      const std::int64_t physical_block = block_table_row[position / params.block_size];
      const std::int64_t block_offset = position % params.block_size;
      const Stored* key = keys + physical_block * params.key_strides.block +
                          block_offset * params.key_strides.token;
      float query_dot_key = 0.0f;
      for (std::int64_t i = 0; i < params.head_size; ++i) {
        query_dot_key = fused_multiply_add(load_as<float>(query[i]),
                                           cache_value<float>(key[i], k_scale), query_dot_key);
      }
      const float score = scaled_score(params, row, query_dot_key, position);
      if (pass == 0) {
        m = larger(score, m);
        continue;
      }
      const float p = softmax_weight(score, m);
      l = l + p;
      const Stored* value = values + physical_block * params.value_strides.block +
                            block_offset * params.value_strides.token;
      for (std::int64_t d = part; d < params.head_size_v; d += num_parts) {
        output[d] = fused_multiply_add(p, cache_value<float>(value[d], v_scale), output[d]);
      }
    }
    m = larger(sink, m);
  }

  float* lse = params.lse + row.head_idx * params.num_tokens + row.token_idx;
  if (!sees_a_key) {
    if (part == 0) *lse = sink;
    return;
  }
  if (params.sinks != nullptr) l = l + softmax_weight(sink, m);
  for (std::int64_t d = part; d < params.head_size_v; d += num_parts) {
    output[d] = canonical_nan(output[d] / l);
  }
  if (part == 0) *lse = canonical_nan(m + exact_log(l));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
