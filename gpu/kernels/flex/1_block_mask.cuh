// flex, rung 1: the cache as one long sequence, masks and scores as callables, and lists of blocks to visit.
//
// Problem  out[t,h] = softmax(score_mod(scale · query[t,h] · Kᵀ)) · V over those of all keys in the cache
//          for which mask_mod is true; lse[h,t] = ln Σ exp(score).
// Shapes   query [num_tokens, num_query_heads, head_size]
//          physical_to_logical [num_reqs, num_blocks]
//          group_start [num_groups + 1], kv_num_blocks [num_groups], kv_indices [num_groups, columns]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block (x, y) → group x of up to 16 neighbouring rows, query head y. The rows may belong to
//          several requests. It walks the group's list of physical blocks, 32 keys at a time. Eight threads
//          share a row: thread c takes keys c, c + 8, … of a tile and elements c, c + 8, … of the output.
//
//            group: 1 row of r0, 3 of r1      list 2 0 3      blocks of 4 tokens (example of params.h)
//            physical block       2              0              3
//            logical for r0       0: positions 0 … 3   1: 4, 5        not r0's
//            logical for r1       not r1's       not r1's       0: positions 0 … 2
//
// Cost     each listed block is read once a query head and group, also for rows that see nothing of it; four
//          barriers a tile. The table of physical_to_logical is num_reqs · num_blocks numbers, whatever the
//          lengths.
// Change   unified/1_two_dimensional.cuh finds a row's keys through the block table of its request; here they are
//          found through a mask over the whole cache, so that any rule can be one. Sixteen decodes share a list of
//          the blocks of all sixteen, of which each sees its own. On one NVIDIA H200 (2026-11-30,
//          docs/measurements/2026-11-30-h200.txt; 32/8 heads of 128, bf16) FLEX_ATTENTION takes, copies and
//          lists included, 163 ms for 64 decodes at 8,192 tokens, where TRITON_ATTN takes 7.5, and 1,518 ms for a
//          prefill of 16,384, where that takes 673.
// Order    score: a chain of fma over the head. m and l begin as sink and 1 (−∞ and 0 without one). Softmax
//          goes online key by key, in the order of the list: a key with a greater score multiplies the sums by
//          e^(m before − m); then l + p and fma(p, v, acc). Each row's blocks are listed in its own logical
//          order, so no bit depends on its neighbours, on where blocks lie, or on the block size.
// Expects  lists that hold every block with a key that mask_mod shows to a row of the group, each once. Heads
//          of up to 256 elements.
// Source   PyTorch, torch/nn/attention/flex_attention.py; vLLM, v1/attention/backends/flex_attention.py.
// Differs  PyTorch compiles modifiers from Python; here they are C++ structs, compiled with the kernel. It goes
//          online block by block. Sinks, which no score_mod can express, are where the sums begin.
// Words    __syncthreads(), dynamic_shared_memory: paged_prefill/1_tiled.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/flex/modifiers.h"
#include "gpu/kernels/flex/params.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The constants of rung 1.
struct FlexBlockMask {
  static constexpr std::int64_t kKeys = 32;                                   ///< loaded at once
  static constexpr std::int64_t kThreadsPerRow = 8;                           ///< of a query
  static constexpr unsigned int kThreadsPerCta = kFlexRows * kThreadsPerRow;  ///< a row each eight
};

/// All that the kernel gets.
/// \tparam ScoreMod  float operator()(float score, const FlexPair&) const
/// \tparam MaskMod   bool operator()(const FlexPair&) const
template <typename ScoreMod, typename MaskMod>
struct FlexLaunch {
  FlexAttentionParams attention;  ///< step and lists
  ScoreMod score_mod;             ///< its pointers are device addresses
  MaskMod mask_mod;               ///< likewise
};

/// A thread block's shared memory. Rows of keys are one element longer, so that threads that read the same
/// element of neighbouring keys find it in different banks.
struct FlexMemory {
  float* queries;       ///< [kFlexRows, head_size]
  float* keys;          ///< [kKeys, head_size + 1]
  float* values;        ///< [kKeys, head_size_v]
  float* scores;        ///< [kFlexRows, kKeys]
  float* sums;          ///< [kFlexRows, head_size_v] acc, not yet divided by l
  std::uint8_t* shown;  ///< [kFlexRows, kKeys] 1 where the row sees the key
};

inline std::size_t bytes_of_flex(const PagedAttentionParams& params) {
  using Rung = FlexBlockMask;
  const std::int64_t floats = kFlexRows * (params.head_size + Rung::kKeys + params.head_size_v) +
                              Rung::kKeys * (params.head_size + 1 + params.head_size_v);
  return static_cast<std::size_t>(floats) * sizeof(float) + kFlexRows * Rung::kKeys;
}

__device__ inline FlexMemory flex_memory(const PagedAttentionParams& params) {
  using Rung = FlexBlockMask;
  FlexMemory memory;
  memory.queries = dynamic_shared_memory<float>();
  memory.keys = memory.queries + kFlexRows * params.head_size;
  memory.values = memory.keys + Rung::kKeys * (params.head_size + 1);
  memory.scores = memory.values + Rung::kKeys * params.head_size_v;
  memory.sums = memory.scores + kFlexRows * Rung::kKeys;
  memory.shown = reinterpret_cast<std::uint8_t*>(memory.sums + kFlexRows * params.head_size_v);
  return memory;
}

/// One key of a group's list.
struct ListedKey {
  std::int64_t physical_block;  ///< where it lies
  std::int64_t block_offset;    ///< which token of it
};

/// The key of a number, counted through the blocks of a group's list.
/// \param attention  lists
/// \param group_idx  whose list
/// \param list_idx   less than kv_num_blocks · block_size
__device__ inline ListedKey listed_key(const FlexAttentionParams& attention,
                                       std::int64_t group_idx,
                                       std::int64_t list_idx) {
  const std::int64_t block_size = attention.step.block_size;
  const std::int32_t* list = attention.kv_indices + group_idx * attention.max_blocks_per_group;
  return {list[list_idx / block_size], list_idx % block_size};
}

template <typename Stored, typename ScoreMod, typename MaskMod>
__global__ void flex_block_mask(FlexLaunch<ScoreMod, MaskMod> flex) {
  using Rung = FlexBlockMask;
  const FlexAttentionParams& attention = flex.attention;
  const PagedAttentionParams& params = attention.step;
  const std::int64_t group_idx = blockIdx.x;
  const std::int64_t head_idx = blockIdx.y;

  // Which row this thread works for, and its part of every array. Rows of a group that is not full repeat its
  // first, and see nothing.
  const std::int64_t row_idx = threadIdx.x / Rung::kThreadsPerRow;
  const std::int64_t part = threadIdx.x % Rung::kThreadsPerRow;
  const std::int64_t first_token = attention.group_start[group_idx];
  const std::int64_t end_of_group = attention.group_start[group_idx + 1];
  if (first_token == end_of_group) return;  // recorded for more groups than this step has
  const bool has_row = first_token + row_idx < end_of_group;
  const std::int64_t token_idx = has_row ? first_token + row_idx : first_token;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  const bool may_see = has_row && !row.is_padding;
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;
  const FlexMemory memory = flex_memory(params);
  float* query = memory.queries + row_idx * params.head_size;
  float* scores = memory.scores + row_idx * Rung::kKeys;
  float* sums = memory.sums + row_idx * params.head_size_v;
  std::uint8_t* shown = memory.shown + row_idx * Rung::kKeys;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* logical_block_of =
      attention.physical_to_logical + row.req_idx * attention.num_blocks;
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];
  const std::int64_t global_row = token_idx * params.num_query_heads + head_idx;

  // The queries, once. A thread loads, and later sums, elements of its own row.
  for (std::int64_t i = part; i < params.head_size; i += Rung::kThreadsPerRow) {
    query[i] = query_element(params, global_row * params.head_size + i);
  }
  for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) sums[d] = 0.0f;

  float m = sink;
  float l = sink == minus_infinity ? 0.0f : 1.0f;
  bool sees_a_key = false;
  const std::int64_t num_listed = attention.kv_num_blocks[group_idx] * params.block_size;
  for (std::int64_t first_listed = 0; first_listed < num_listed; first_listed += Rung::kKeys) {
    // Step 1: locate the block
    __syncthreads();  // before keys are overwritten that others may still read
    for (std::int64_t key_idx = row_idx; key_idx < Rung::kKeys; key_idx += kFlexRows) {
      if (first_listed + key_idx >= num_listed) continue;
      const ListedKey listed = listed_key(attention, group_idx, first_listed + key_idx);
      const Stored* key = keys + listed.physical_block * params.key_strides.block +
                          listed.block_offset * params.key_strides.token;
      const Stored* value = values + listed.physical_block * params.value_strides.block +
                            listed.block_offset * params.value_strides.token;
      for (std::int64_t i = part; i < params.head_size; i += Rung::kThreadsPerRow) {
        memory.keys[key_idx * (params.head_size + 1) + i] = cache_value<float>(key[i], k_scale);
      }
      for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
        memory.values[key_idx * params.head_size_v + d] = cache_value<float>(value[d], v_scale);
      }
    }
    __syncthreads();

    // Step 2: scores
    for (std::int64_t key_idx = part; key_idx < Rung::kKeys; key_idx += Rung::kThreadsPerRow) {
      shown[key_idx] = 0;
      if (!may_see || first_listed + key_idx >= num_listed) continue;
      const ListedKey listed = listed_key(attention, group_idx, first_listed + key_idx);
      const std::int32_t logical_block = logical_block_of[listed.physical_block];
      if (logical_block == kNoLogicalBlock) continue;
      const std::int64_t position = logical_block * params.block_size + listed.block_offset;
      const FlexPair pair = {row.req_idx, head_idx, row.position, position};
      if (position >= row.seq_len || !flex.mask_mod(pair)) continue;
      shown[key_idx] = 1;
      const float* key = memory.keys + key_idx * (params.head_size + 1);
      float query_dot_key = 0.0f;
      for (std::int64_t i = 0; i < params.head_size; ++i) {
        query_dot_key = fused_multiply_add(query[i], key[i], query_dot_key);
      }
      scores[key_idx] = flex.score_mod(query_dot_key * params.scale, pair);
    }
    __syncthreads();

    for (std::int64_t key_idx = 0; key_idx < Rung::kKeys; ++key_idx) {
      if (shown[key_idx] == 0) continue;
      // Step 3: softmax update
      // All threads of a row compute its m and l alike.
      const float score = scores[key_idx];
      const float largest = larger(score, m);
      if (largest != m) {
        const float rescaling = softmax_weight(m, largest);
        m = largest;
        l = l * rescaling;
        for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
          sums[d] = sums[d] * rescaling;
        }
      }
      const float p = score == minus_infinity ? 0.0f : softmax_weight(score, m);
      l = l + p;
      sees_a_key = true;

      // Step 4: weighted values
      const float* value = memory.values + key_idx * params.head_size_v;
      for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
        sums[d] = fused_multiply_add(p, value[d], sums[d]);
      }
    }
  }

  // Step 5: normalise
  if (!has_row) return;
  float* output = params.output + global_row * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  if (!sees_a_key) {
    for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) output[d] = 0.0f;
    if (part == 0) *lse = row.is_padding ? minus_infinity : sink;
    return;
  }
  // Every key that it sees has a score of −∞: then −∞ − −∞ is what each weight is made of.
  if (m == minus_infinity) l = canonical_nan(m - m);
  for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
    output[d] = canonical_nan(sums[d] / l);
  }
  if (part == 0) *lse = canonical_nan(m + exact_log(l));
}

/// Attends for every row and head of the batch, with modifiers besides those of the contract: a key is seen
/// where both masks show it, and score_mod gets the score after soft cap and ALiBi.
/// \tparam Stored     element type of the cache
/// \param attention   step and lists; step.query_dtype is set
/// \param score_mod   float operator()(float score, const FlexPair&) const, with device addresses
/// \param mask_mod    bool operator()(const FlexPair&) const, with device addresses
/// \throws Error      for heads that it cannot hold
template <typename Stored, typename ScoreMod, typename MaskMod>
void launch_flex_attention(const FlexAttentionParams& attention,
                           const ScoreMod& score_mod,
                           const MaskMod& mask_mod) {
  using Rung = FlexBlockMask;
  const char* const name = "flex/1_block_mask";
  const PagedAttentionParams& params = attention.step;
  require_taken(name, refusal_of_flex(attention));
  if (attention.num_groups == 0) return;
  const VariantScore score_of_variant = {params.has_softcap, params.logit_softcap,
                                         params.alibi_slopes};
  const VariantMask mask_of_variant = {params.visibility, params.mm_prefix_ranges,
                                       params.num_mm_prefix_ranges};
  using Scores = ScoreThen<VariantScore, ScoreMod>;
  using Masks = AndMasks<VariantMask, MaskMod>;
  const FlexLaunch<Scores, Masks> flex = {
      attention, {score_of_variant, score_mod}, {mask_of_variant, mask_mod}};
  const dim3 grid(ctas_for(attention.num_groups, 1),
                  static_cast<unsigned int>(params.num_query_heads));
  launch(name, grid, Rung::kThreadsPerCta, flex_block_mask<Stored, Scores, Masks>, flex,
         bytes_of_flex(params));
}

// Attends with the modifiers of the contract alone.
template <typename Query, typename Stored>
void launch_flex_of_variant(const FlexAttentionParams& attention) {
  FlexAttentionParams with_types = attention;
  with_types.step = with_dtypes<Query, Stored>(attention.step);
  launch_flex_attention<Stored>(with_types, SameScore{}, EveryKey{});
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
