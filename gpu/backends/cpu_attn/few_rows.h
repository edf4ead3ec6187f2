/// \file
/// Steps 2 and 4 for few rows, as in a decode step: lanes are neighbouring elements of the head, and all
/// rows of the task use a key or value while it is in a register. It is converted there: a 16-bit or
/// 8-bit cache is read as it is, at half or a quarter of the bytes.
///
/// A product query · key is 16 chains, number c over the elements c, c + 16, c + 32, …, whatever the
/// width of the vectors. They are added as a tree: c and c + 8, then c and c + 4, 2, 1.
#pragma once

#include <cmath>

#include "gpu/backends/cpu_attn/lanes.h"
#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {
namespace PAGELAB_WIDTH {

/// Eight floats, whatever the width.
typedef float Eight __attribute__((vector_size(32)));

/// Chains of a product.
inline constexpr int kProductChains = 16;
/// Vectors that hold them.
inline constexpr int kVectorsOfChains = kProductChains / kLanes;
/// Rows that are multiplied with kKeysAtOnce keys at a time.
inline constexpr int kRowsAtOnce = 4;
/// Keys that are multiplied with kRowsAtOnce rows at a time.
inline constexpr int kKeysAtOnce = 4;
/// Of these rows, how many fit the registers.
inline constexpr int kRowsInRegisters = PAGELAB_LANES == 16 ? 4 : 2;
/// Of these keys, how many fit the registers.
inline constexpr int kKeysInRegisters = PAGELAB_LANES == 16 ? 4 : 2;

/// Asks for a row that the next tile will read. Rows of one head lie apart, block by block, where no
/// processor guesses them. (Hint 2: into the second-level cache; a tile ahead is too much for the first.)
template <typename Stored>
inline void prefetch_row(const std::byte* row, std::int64_t size) {
  constexpr std::int64_t kBytesPerLine = 64;
  const std::int64_t num_bytes = size * static_cast<std::int64_t>(sizeof(Stored));
  for (std::int64_t byte = 0; byte < num_bytes; byte += kBytesPerLine) {
    __builtin_prefetch(row + byte, 0, 2);
  }
}

/// Of 16 chains the sums of c and c + 8.
inline Eight eight_sums(const Lanes (&chains)[kVectorsOfChains]) {
#if PAGELAB_LANES == 16
  return (Eight)_mm512_castps512_ps256(chains[0]) + (Eight)_mm512_extractf32x8_ps(chains[0], 1);
#else
  return chains[0] + chains[1];
#endif
}

/// The sum of each of eight vectors: 4, 2 and 1 lanes apart, for two vectors at a time.
/// \param v  [8]
/// \returns  Σ v[0], …, Σ v[7]
inline Eight sums_of_each(const Eight* v) {
  const auto four_apart = [](Eight a, Eight b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  };
  const auto two_apart = [](Eight a, Eight b) {
    return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
           __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  };
  const auto one_apart = [](Eight a, Eight b) {
    return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
  };
  // The order in which they go in is that in which they come out.
  const Eight sums_0145 = two_apart(four_apart(v[0], v[4]), four_apart(v[1], v[5]));
  const Eight sums_2367 = two_apart(four_apart(v[2], v[6]), four_apart(v[3], v[7]));
  return one_apart(sums_0145, sums_2367);
}

/// The chains of kKeysInRegisters keys with kRowsInRegisters rows.
/// \param query      [kRowsInRegisters, head_size]
/// \param head_size  a multiple of kProductChains
/// \param keys       [kKeysInRegisters] as stored
/// \param k_scale    of the head, for fp8
/// \param sums       [kKeysInRegisters, kRowsAtOnce] chains c and c + 8, added
template <typename Stored>
inline void chains_in_registers(const float* query,
                                std::int64_t head_size,
                                const std::byte* const* keys,
                                float k_scale,
                                Eight* sums) {
  Lanes chains[kKeysInRegisters][kRowsInRegisters][kVectorsOfChains] = {};
  for (std::int64_t i = 0; i < head_size; i += kProductChains) {
#pragma GCC unroll 2
    for (int vector = 0; vector < kVectorsOfChains; ++vector) {
      const std::int64_t element = i + vector * kLanes;
#pragma GCC unroll 4
      for (int key = 0; key < kKeysInRegisters; ++key) {
        const Stored* stored = reinterpret_cast<const Stored*>(keys[key]);
        const Lanes key_elements = load_elements(stored + element, k_scale);
#pragma GCC unroll 4
        for (int row = 0; row < kRowsInRegisters; ++row) {
          const Lanes query_elements = load(query + row * head_size + element);
          chains[key][row][vector] = fma(query_elements, key_elements, chains[key][row][vector]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int key = 0; key < kKeysInRegisters; ++key) {
#pragma GCC unroll 4
    for (int row = 0; row < kRowsInRegisters; ++row) {
      sums[key * kRowsAtOnce + row] = eight_sums(chains[key][row]);
    }
  }
}

/// Step 2: products of few queries with a tile's keys.
/// \tparam Stored    any float storage type
/// \param query      [num_rows, head_size]
/// \param num_rows   a multiple of kRowsAtOnce, at most kFewRows
/// \param head_size  a multiple of kProductChains
/// \param keys       [num_keys] and up to kSpareKeys more, as stored
/// \param num_keys   how many; the next multiple of kKeysAtOnce is computed
/// \param k_scale    of the head, for fp8
/// \param next_keys  of the tile after this one, to be fetched
/// \param products   [num_keys, kFewRows]
template <typename Stored>
void products_of_few(const float* query,
                     std::int64_t num_rows,
                     std::int64_t head_size,
                     const std::byte* const* keys,
                     std::int64_t num_keys,
                     float k_scale,
                     const std::byte* const* next_keys,
                     float* products) {
  for (std::int64_t first_key = 0; first_key < num_keys; first_key += kKeysAtOnce) {
    for (int key = 0; key < kKeysAtOnce; ++key) {
      prefetch_row<Stored>(next_keys[first_key + key], head_size);
    }
    for (std::int64_t first_row = 0; first_row < num_rows; first_row += kRowsAtOnce) {
      Eight sums[kKeysAtOnce * kRowsAtOnce];
      for (int key = 0; key < kKeysAtOnce; key += kKeysInRegisters) {
        for (int row = 0; row < kRowsAtOnce; row += kRowsInRegisters) {
          chains_in_registers<Stored>(query + (first_row + row) * head_size, head_size,
                                      keys + first_key + key, k_scale,
                                      sums + key * kRowsAtOnce + row);
        }
      }
      for (int key = 0; key < kKeysAtOnce; key += 2) {
        const Eight of_two_keys = sums_of_each(sums + key * kRowsAtOnce);
        float* to = products + (first_key + key) * kFewRows + first_row;
        std::memcpy(to, &of_two_keys, kRowsAtOnce * sizeof(float));
        std::memcpy(to + kFewRows, reinterpret_cast<const float*>(&of_two_keys) + kRowsAtOnce,
                    kRowsAtOnce * sizeof(float));
      }
    }
  }
}

/// Step 4 for kRowsAtOnce rows and kVectors vectors of the values' elements.
template <typename Stored, bool kSomeHidden, int kVectors>
inline void add_values_in_registers(const float* weights,
                                    const std::byte* const* values,
                                    std::int64_t num_keys,
                                    std::int64_t first_element,
                                    float v_scale,
                                    const float* rescale,
                                    std::int64_t head_size_v,
                                    float* acc) {
  Lanes sums[kRowsAtOnce][kVectors] = {};
  for (std::int64_t key = 0; key < num_keys; ++key) {
    const Stored* value = reinterpret_cast<const Stored*>(values[key]) + first_element;
    Lanes elements[kVectors];
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      elements[vector] = load_elements(value + vector * kLanes, v_scale);
    }
#pragma GCC unroll 4
    for (int row = 0; row < kRowsAtOnce; ++row) {
      const float p = weights[key * kFewRows + row];
      if (kSomeHidden && std::signbit(p)) continue;
#pragma GCC unroll 4
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[row][vector] = fma(broadcast(p), elements[vector], sums[row][vector]);
      }
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < kRowsAtOnce; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      float* sum = acc + row * head_size_v + first_element + vector * kLanes;
      store(sum, fma(load(sum), broadcast(rescale[row]), sums[row][vector]));
    }
  }
}

/// Step 4: the tile's weighted values, each sum a chain over its keys, join the rescaled sums so far.
/// \tparam Stored       any float storage type
/// \tparam kSomeHidden  whether a row may not see one of the keys
/// \param weights       [num_keys, kFewRows]
/// \param num_rows      a multiple of kRowsAtOnce
/// \param values        [num_keys] as stored
/// \param num_keys      how many
/// \param head_size_v   a multiple of kProductChains
/// \param v_scale       of the head, for fp8
/// \param rescale       [num_rows]
/// \param next_values   of the tile after this one, to be fetched
/// \param acc           [num_rows, head_size_v], changed
template <typename Stored, bool kSomeHidden>
void add_values_of_few(const float* weights,
                       std::int64_t num_rows,
                       const std::byte* const* values,
                       std::int64_t num_keys,
                       std::int64_t head_size_v,
                       float v_scale,
                       const float* rescale,
                       const std::byte* const* next_values,
                       float* acc) {
  for (std::int64_t key = 0; key < num_keys; ++key) {
    prefetch_row<Stored>(next_values[key], head_size_v);
  }
  constexpr int kVectors = PAGELAB_LANES == 16 ? 4 : 2;
  for (std::int64_t row = 0; row < num_rows; row += kRowsAtOnce) {
    std::int64_t d = 0;
    for (; d + kVectors * kLanes <= head_size_v; d += kVectors * kLanes) {
      add_values_in_registers<Stored, kSomeHidden, kVectors>(weights + row, values, num_keys, d,
                                                             v_scale, rescale + row, head_size_v,
                                                             acc + row * head_size_v);
    }
    for (; d < head_size_v; d += kLanes) {
      add_values_in_registers<Stored, kSomeHidden, 1>(weights + row, values, num_keys, d, v_scale,
                                                      rescale + row, head_size_v,
                                                      acc + row * head_size_v);
    }
  }
}

}  // namespace PAGELAB_WIDTH
}  // namespace pagelab::cpu_attn
