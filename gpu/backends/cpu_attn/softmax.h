/// \file
/// Step 3 of the fast CPU attention, the same for few rows and for many: lanes are rows. From products
/// query · key to scores, from scores to weights, and the online softmax that joins tiles.
#pragma once

#include "gpu/backends/cpu_attn/lanes.h"
#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {
namespace PAGELAB_WIDTH {

/// The weight of a key that a row does not see. It adds nothing, and its sign says that the key's
/// value must not be touched: the value may be NaN, which times 0 is NaN. Weights of visible keys are
/// never negative.
inline constexpr float kHiddenWeight = -0.0f;

/// kLanes rows of a task, as step 3 sees them.
struct SoftmaxRows {
  const std::int32_t* positions;  ///< [kLanes] of the rows' tokens
  const std::int32_t* begins;     ///< [kLanes] first key that each row sees
  const std::int32_t* ends;       ///< [kLanes] one past the last one
  const float* slopes;            ///< [kLanes] ALiBi
  float* m;                       ///< [kLanes] maximum of the scores so far; changed
  float* l;                       ///< [kLanes] sum of the weights so far; changed
  float* rescale;                 ///< [kLanes] set to what the sums so far are to be multiplied by
};

/// cap · tanh(score / cap), lane by lane: caps are rare, and exact_tanh has branches.
inline Lanes soft_capped(Lanes score, float cap) {
  for (int lane = 0; lane < kLanes; ++lane) {
    score[lane] = cap * exact_tanh(score[lane] / cap);
  }
  return score;
}

/// Scale, then soft cap, then bias.
/// \param params        the call
/// \param product       query · key, a row a lane
/// \param positions     of the rows
/// \param slopes        of the rows
/// \param key_position  of the key
inline Lanes score_of(const Params& params,
                      Lanes product,
                      IntLanes positions,
                      Lanes slopes,
                      std::int32_t key_position) {
  Lanes score = product * params.scale;
  if (params.has_softcap) score = soft_capped(score, params.logit_softcap);
  if (params.alibi_slopes != nullptr) {
    const IntLanes difference = positions - key_position;
    const IntLanes distance = difference < 0 ? -difference : difference;
    const Lanes bias = -slopes * __builtin_convertvector(distance, Lanes);
    score = score + bias;
  }
  return score;
}

/// Step 3 for kLanes rows and the keys of a tile.
/// \tparam kSomeHidden    whether one of the rows may not see one of the keys
/// \param params          the call
/// \param rows            which rows
/// \param first_position  of the first key
/// \param num_keys        how many keys
/// \param weights         [num_keys, stride] products query · key; set to the weights
/// \param stride          rows from one key to the next
template <bool kSomeHidden>
void softmax_update(const Params& params,
                    const SoftmaxRows& rows,
                    std::int64_t first_position,
                    std::int64_t num_keys,
                    float* weights,
                    std::int64_t stride) {
  const IntLanes positions = load(rows.positions);
  const IntLanes begins = load(rows.begins);
  const IntLanes ends = load(rows.ends);
  const Lanes slopes = load(rows.slopes);
  const Lanes old_m = load(rows.m);

  // The greatest score; a NaN score does not become it.
  Lanes m = old_m;
  for (std::int64_t key = 0; key < num_keys; ++key) {
    const std::int32_t position = static_cast<std::int32_t>(first_position + key);
    const Lanes score = score_of(params, load(weights + key * stride), positions, slopes, position);
    store(weights + key * stride, score);
    if constexpr (kSomeHidden) {
      const IntLanes is_greater = (position >= begins) & (position < ends) & (score > m);
      m = is_greater ? score : m;
    } else {
      m = score > m ? score : m;
    }
  }

  // Where all scores so far are −∞, weights are 0: −∞ − (−∞) would be NaN, and a later tile may have
  // a finite score.
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  const Lanes shift = m == minus_infinity ? broadcast(0.0f) : m;
  const Lanes rescale = exact_exp2_of((old_m - shift) * kLog2E);
  Lanes tile_l = broadcast(0.0f);
  for (std::int64_t key = 0; key < num_keys; ++key) {
    const Lanes score = load(weights + key * stride);
    Lanes p = exact_exp2_of((score - shift) * kLog2E);
    if constexpr (kSomeHidden) {
      const std::int32_t position = static_cast<std::int32_t>(first_position + key);
      const IntLanes is_visible = (position >= begins) & (position < ends);
      p = is_visible ? p : broadcast(kHiddenWeight);
    }
    store(weights + key * stride, p);
    tile_l = tile_l + p;
  }
  store(rows.l, fma(load(rows.l), rescale, tile_l));
  store(rows.m, m);
  store(rows.rescale, rescale);
}

}  // namespace PAGELAB_WIDTH
}  // namespace pagelab::cpu_attn
