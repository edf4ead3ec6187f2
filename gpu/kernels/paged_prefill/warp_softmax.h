/// \file
/// Online softmax on the fragments of a tensor core: what a warp does with 16 rows of scores between the
/// two products. Rungs 2 and 3 of paged_prefill share it; how scores and values get there is theirs.
///
/// Lane 4 · group + pair of a warp holds, of each 8 keys, the scores of keys 2·pair and 2·pair + 1 for row
/// group (parts 0, 1) and row group + 8 (parts 2, 3), as gpu/device/mma.h draws it. So the four lanes of a
/// group have a row between them.
/// Everything is in base 2, as gpu/kernels/paged_attention/tensor_core_operands.h explains.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/device/ex2.h"
#include "gpu/device/keywords.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/exceptional_row.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_attention/tensor_core_operands.h"
#include "gpu/kernels/paged_prefill/query_tile.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {

/// Keys that are scored before the sums are rescaled. A part of the arithmetic: rungs with another number
/// would have other bits.
inline constexpr int kPrefillKeys = 64;
/// Rows of a warp, those of one mma.
inline constexpr int kRowsPerWarp = 16;

inline namespace PAGELAB_TARGET {

/// A part of a tile's rows, a tile of its own.
/// \param tile      whose rows are shared out
/// \param part_idx  which part
/// \param num_rows  of a part
__device__ inline QueryTile part_of(const QueryTile& tile, int part_idx, int num_rows) {
  QueryTile part = tile;
  const int rows_before = part_idx * num_rows;
  part.first_token = tile.first_token + rows_before;
  part.first_position = tile.first_position + rows_before;
  part.num_rows = static_cast<std::int32_t>(clamped(tile.num_rows - rows_before, 0, num_rows));
  return part;
}

/// A lane's scores of 64 keys and two rows.
struct LaneScores {
  float of[kPrefillKeys / 8][4];  ///< as the fragments C of eight mma
};

/// Finishes scores that have options: scale, soft cap, bias. By value, and not inlined: it needs more registers
/// than the rest of the kernel, which would lack them where there are no options.
/// \param params     the step
/// \param warp_tile  16 rows
/// \param head_idx   query head
/// \param k_scale    of fp8 keys
/// \param first_key  position of the first score's key
/// \param lane_idx   of this thread
/// \param sums       q · k of the tensor cores
/// \returns          natural scores
[[gnu::noinline]] __device__ inline LaneScores finished_scores(PagedAttentionParams params,
                                                               QueryTile warp_tile,
                                                               std::int64_t head_idx,
                                                               float k_scale,
                                                               std::int64_t first_key,
                                                               int lane_idx,
                                                               LaneScores sums) {
  for (int n = 0; n < kPrefillKeys / 8; ++n) {
    for (int part = 0; part < 4; ++part) {
      const int row_idx = lane_idx / 4 + part / 2 * 8;
      const std::int64_t position = first_key + 8 * n + lane_idx % 4 * 2 + part % 2;
      const QueryRow row = query_row_of(params, warp_tile, row_idx, head_idx);
      sums.of[n][part] = scaled_score(params, row, sums.of[n][part] * k_scale, position);
    }
  }
  return sums;
}

/// The same, in place. Parameters as above.
__device__ inline void finish_scores(const PagedAttentionParams& params,
                                     const QueryTile& warp_tile,
                                     std::int64_t head_idx,
                                     float k_scale,
                                     std::int64_t first_key,
                                     int lane_idx,
                                     float (&scores)[kPrefillKeys / 8][4]) {
  LaneScores sums;
  PAGELAB_UNROLL for (int i = 0; i < kPrefillKeys / 2; ++i) sums.of[i / 4][i % 4] =
      scores[i / 4][i % 4];
  sums = finished_scores(params, warp_tile, head_idx, k_scale, first_key, lane_idx, sums);
  PAGELAB_UNROLL for (int i = 0; i < kPrefillKeys / 2; ++i) scores[i / 4][i % 4] =
      sums.of[i / 4][i % 4];
}

/// Ones at bits begin … end − 1 of 64.
__device__ inline std::uint64_t bits_between(std::int64_t begin, std::int64_t end) {
  const std::uint64_t ones = ~std::uint64_t{0};
  begin = begin < 0 ? 0 : begin;
  end = end > kPrefillKeys ? kPrefillKeys : end;
  return begin < end ? (ones << begin) & (ones >> (kPrefillKeys - end)) : 0;
}

/// Which of 64 keys a row sees: bit i for the key at first_key + i.
/// \param params     the step
/// \param tile       of the row
/// \param position   of the query
/// \param first_key  of the tile of keys
__device__ inline std::uint64_t visible_bits(const PagedAttentionParams& params,
                                             const QueryTile& tile,
                                             std::int64_t position,
                                             std::int64_t first_key) {
  const KeyRange by_rule = visible_by_rule(params.visibility, position, tile.seq_len);
  std::uint64_t bits = bits_between(by_rule.begin - first_key, by_rule.end - first_key);
  for (std::int64_t range_idx = 0; range_idx < params.num_mm_prefix_ranges; ++range_idx) {
    const MmPrefixRange range = params.mm_prefix_ranges[range_idx];
    const bool holds_query = range.req_idx == tile.req_idx && range.first < range.last &&
                             range.first <= position && position <= range.last;
    const std::int64_t end = range.last < tile.seq_len ? range.last + 1 : tile.seq_len;
    if (holds_query) bits |= bits_between(range.first - first_key, end - first_key);
  }
  return bits;
}

/// Gives keys that a row does not see the score −∞. Only tiles on the edge of what is seen need it.
/// \param params     the step
/// \param warp_tile  rows
/// \param first_key  position of the first score's key
/// \param lane_idx   of this thread
/// \param scores     of all keys
__device__ inline void hide_scores(const PagedAttentionParams& params,
                                   const QueryTile& warp_tile,
                                   std::int64_t first_key,
                                   int lane_idx,
                                   float (&scores)[kPrefillKeys / 8][4]) {
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    const std::int64_t position = warp_tile.first_position + lane_idx / 4 + half * 8;
    const std::uint64_t bits = visible_bits(params, warp_tile, position, first_key);
    const std::uint64_t bits_of_lane = bits >> (lane_idx % 4 * 2);
    PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; ++n) {
      PAGELAB_UNROLL for (int part = 2 * half; part < 2 * half + 2; ++part) {
        const bool is_visible = (bits_of_lane >> (8 * n + part % 2) & 1) != 0;
        scores[n][part] = is_visible ? scores[n][part] : float_from_bits(0xff800000u);
      }
    }
  }
}

/// The softmax state of this lane's two rows: group and group + 8.
struct RowPair {
  float m[2];  ///< largest exponent so far, in base 2; all lanes of a group have it
  float l[2];  ///< sum of the weights that this lane has computed
};

/// The state before the first key. A sink is a key without a value: it counts in one lane of a group.
__device__ inline RowPair first_state(const PagedAttentionParams& params,
                                      std::int64_t head_idx,
                                      int lane_idx) {
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;
  const float m = sink * kLog2E;
  const float l = sink != minus_infinity && lane_idx % 4 == 0 ? 1.0f : 0.0f;
  return {{m, m}, {l, l}};
}

/// One tile of online softmax: scores become weights.
/// \param scores     of 64 keys; then their weights
/// \param factor     from a score to base 2
/// \param state      of the two rows
/// \param rescaling  what all sums so far are to be multiplied by
__device__ __forceinline__ void online_softmax(float (&scores)[kPrefillKeys / 8][4],
                                               float factor,
                                               RowPair& state,
                                               float (&rescaling)[2]) {
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    // fmaxf knows no difference between −0 and +0, but neither do a power of two and a logarithm. It passes
    // over NaN, as `larger` does.
    float largest = scores[0][2 * half];
    PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; ++n) {
      largest = fmaxf(largest, scores[n][2 * half]);
      largest = fmaxf(largest, scores[n][2 * half + 1]);
    }
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
    const float m = fmaxf(state.m[half], largest * factor);
    // While a row has seen nothing, any other number than −∞ gives its weights their 0.
    const float subtracted = m == float_from_bits(0xff800000u) ? 0.0f : m;
    rescaling[half] = ex2_approx(state.m[half] - subtracted);
    state.m[half] = m;
    float l = state.l[half] * rescaling[half];
    PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; ++n) {
      PAGELAB_UNROLL for (int part = 2 * half; part < 2 * half + 2; ++part) {
        scores[n][part] = ex2_approx(fused_multiply_add(scores[n][part], factor, -subtracted));
        l = l + scores[n][part];
      }
    }
    state.l[half] = l;
  }
}

/// Divides by l, stores outputs and LSE, and computes exceptional rows again.
/// \tparam kTilesOfValues  groups of 8 output elements
/// \param params     the step
/// \param warp_tile  rows
/// \param head_idx   query head
/// \param lane_idx   of this thread
/// \param state      after the last key
/// \param acc        Σ weight · value
template <typename Query, typename Stored, int kTilesOfValues>
__device__ __forceinline__ void store_rows(const PagedAttentionParams& params,
                                           const QueryTile& warp_tile,
                                           std::int64_t head_idx,
                                           int lane_idx,
                                           const RowPair& state,
                                           const float (&acc)[kTilesOfValues][4]) {
  const int group = lane_idx / 4;
  const int pair = lane_idx % 4;
  bool is_exceptional[2];
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    float l = state.l[half];
    l = l + __shfl_xor_sync(kWholeWarp, l, 1);
    l = l + __shfl_xor_sync(kWholeWarp, l, 2);
    // x − x is 0, or NaN where x is not finite.
    float not_finite = (l - l) + (state.m[half] - state.m[half]);
    PAGELAB_UNROLL for (int n = 0; n < kTilesOfValues; ++n) {
      not_finite = not_finite + (acc[n][2 * half] - acc[n][2 * half]);
      not_finite = not_finite + (acc[n][2 * half + 1] - acc[n][2 * half + 1]);
    }
    const unsigned int lanes = __ballot_sync(kWholeWarp, not_finite != 0.0f ? 1 : 0);
    const int row_idx = group + half * 8;
    const bool exists = row_idx < warp_tile.num_rows;
    // A row that has seen nothing but its sink, or nothing that counts beside it, has the sink itself as LSE.
    const bool is_sink_alone =
        params.sinks != nullptr && l == 1.0f && state.m[half] == params.sinks[head_idx] * kLog2E;
    is_exceptional[half] = exists && ((lanes >> (4 * group) & 0xfu) != 0 || is_sink_alone);
    if (!exists || is_exceptional[half]) continue;
    const QueryRow row = query_row_of(params, warp_tile, row_idx, head_idx);
    const float v_scale = kIsFp8<Stored> ? params.v_scales[row.kv_head_idx] : 1.0f;
    float* output =
        params.output + (row.token_idx * params.num_query_heads + head_idx) * params.head_size_v;
    PAGELAB_UNROLL for (int n = 0; n < kTilesOfValues; ++n) {
      const int d = 8 * n + 2 * pair;
      if (d >= params.head_size_v) continue;
      // + 0 makes +0 of −0, which a hidden tile more or less may have made of it already.
      output[d] = acc[n][2 * half] / l * v_scale + 0.0f;
      output[d + 1] = acc[n][2 * half + 1] / l * v_scale + 0.0f;
    }
    if (pair == 0) {
      params.lse[head_idx * params.num_tokens + row.token_idx] =
          fused_multiply_add(state.m[half], kLn2, exact_log(l));
    }
  }
  for (int half = 0; half < 2; ++half) {
    if (!is_exceptional[half]) continue;
    const QueryRow row = query_row_of(params, warp_tile, group + half * 8, head_idx);
    attend_exceptional_row<Query, Stored>(params, row, pair, 4);
  }
}

/// Zeros and −∞ for rows of no request.
/// \param params    the step
/// \param tile      of padding
/// \param head_idx  query head
__device__ inline void store_padding(const PagedAttentionParams& params,
                                     const QueryTile& tile,
                                     std::int64_t head_idx) {
  for (std::int64_t row_idx = threadIdx.x; row_idx < tile.num_rows; row_idx += blockDim.x) {
    const std::int64_t token_idx = tile.first_token + row_idx;
    float* output =
        params.output + (token_idx * params.num_query_heads + head_idx) * params.head_size_v;
    for (std::int64_t d = 0; d < params.head_size_v; ++d) output[d] = 0.0f;
    params.lse[head_idx * params.num_tokens + token_idx] = float_from_bits(0xff800000u);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
