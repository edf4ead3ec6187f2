/// \file
/// Steps 2 and 4 for many rows, as in a prefill: lanes are rows. Two vectors of rows make a strip, whose
/// queries and sums are kept transposed. An element of a key or value is then the same for the whole
/// strip and is broadcast from where it lies; nothing of the cache is transposed, and each row's sums
/// are chains in the canonical order.
///
///                  row 0 … 31 of the strip
///     query   i │ ■ ■ ■ ■ ■ ■ ■ ■ │         score[key]  = Σ_i query[i] · key[i]
///     acc     d │ ■ ■ ■ ■ ■ ■ ■ ■ │         acc[d]     += Σ_key p[key] · value[d]
#pragma once

#include "gpu/backends/cpu_attn/lanes.h"
#include "gpu/backends/cpu_attn/params.h"
#include "gpu/backends/cpu_attn/softmax.h"

namespace pagelab::cpu_attn {
namespace PAGELAB_WIDTH {

/// Rows of a strip.
inline constexpr std::int64_t kRowsPerStrip = 2 * kLanes;
/// Chains that run side by side, times the two vectors of a strip. One alone would wait for each fma.
inline constexpr int kChains = PAGELAB_LANES == 16 ? 8 : 4;

/// Step 2: products of a strip's queries with keys.
/// \param query      [head_size, kRowsPerStrip]
/// \param head_size  elements of a query and a key
/// \param keys       [num_keys] and up to kSpareKeys more, float32
/// \param num_keys   how many; the next multiple of kChains is computed
/// \param products   [num_keys, kRowsPerStrip]
inline void products_of_many(const float* query,
                             std::int64_t head_size,
                             const float* const* keys,
                             std::int64_t num_keys,
                             float* products) {
  for (std::int64_t first_key = 0; first_key < num_keys; first_key += kChains) {
    const float* key[kChains];
    Lanes low[kChains] = {};
    Lanes high[kChains] = {};
    for (int chain = 0; chain < kChains; ++chain) key[chain] = keys[first_key + chain];
    for (std::int64_t i = 0; i < head_size; ++i) {
      const Lanes query_low = load(query + i * kRowsPerStrip);
      const Lanes query_high = load(query + i * kRowsPerStrip + kLanes);
#pragma GCC unroll 8
      for (int chain = 0; chain < kChains; ++chain) {
        const Lanes key_element = broadcast(key[chain][i]);
        low[chain] = fma(query_low, key_element, low[chain]);
        high[chain] = fma(query_high, key_element, high[chain]);
      }
    }
#pragma GCC unroll 8
    for (int chain = 0; chain < kChains; ++chain) {
      store(products + (first_key + chain) * kRowsPerStrip, low[chain]);
      store(products + (first_key + chain) * kRowsPerStrip + kLanes, high[chain]);
    }
  }
}

/// sum + p · value, or the sum as it is where the weight is a hidden key's.
template <bool kSomeHidden>
inline Lanes add_weighted(Lanes p, Lanes value_element, Lanes sum) {
  const Lanes with_key = fma(p, value_element, sum);
  if constexpr (kSomeHidden) return (IntLanes)p < 0 ? sum : with_key;
  return with_key;
}

/// Step 4 for kElements elements of the values.
template <bool kSomeHidden, int kElements>
inline void add_values_of_elements(const float* weights,
                                   const float* const* values,
                                   std::int64_t num_keys,
                                   std::int64_t first_element,
                                   const float* rescale,
                                   float* acc) {
  Lanes low[kElements] = {};
  Lanes high[kElements] = {};
  for (std::int64_t key = 0; key < num_keys; ++key) {
    const Lanes p_low = load(weights + key * kRowsPerStrip);
    const Lanes p_high = load(weights + key * kRowsPerStrip + kLanes);
    const float* value = values[key] + first_element;
#pragma GCC unroll 8
    for (int d = 0; d < kElements; ++d) {
      const Lanes value_element = broadcast(value[d]);
      low[d] = add_weighted<kSomeHidden>(p_low, value_element, low[d]);
      high[d] = add_weighted<kSomeHidden>(p_high, value_element, high[d]);
    }
  }
#pragma GCC unroll 8
  for (int d = 0; d < kElements; ++d) {
    float* sum = acc + (first_element + d) * kRowsPerStrip;
    store(sum, fma(load(sum), load(rescale), low[d]));
    store(sum + kLanes, fma(load(sum + kLanes), load(rescale + kLanes), high[d]));
  }
}

/// Step 4: the tile's weighted values, each sum a chain over its keys, join the rescaled sums so far.
/// \tparam kSomeHidden  whether a row may not see one of the keys
/// \param weights       [num_keys, kRowsPerStrip]
/// \param values        [num_keys] float32
/// \param num_keys      how many
/// \param head_size_v   elements of a value
/// \param rescale       [kRowsPerStrip]
/// \param acc           [head_size_v, kRowsPerStrip], changed
template <bool kSomeHidden>
void add_values_of_many(const float* weights,
                        const float* const* values,
                        std::int64_t num_keys,
                        std::int64_t head_size_v,
                        const float* rescale,
                        float* acc) {
  std::int64_t d = 0;
  for (; d + kChains <= head_size_v; d += kChains) {
    add_values_of_elements<kSomeHidden, kChains>(weights, values, num_keys, d, rescale, acc);
  }
  for (; d < head_size_v; ++d) {
    add_values_of_elements<kSomeHidden, 1>(weights, values, num_keys, d, rescale, acc);
  }
}

}  // namespace PAGELAB_WIDTH
}  // namespace pagelab::cpu_attn
