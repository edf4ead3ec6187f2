/// \file
/// Rotary position embedding: pairs of a head's elements are turned by an angle that grows with the
/// token's position, so that the dot product of a query and a key depends on their distance.
///
/// Which elements form a pair is a convention of the weights. Here it is Hugging Face's: element i
/// of the first half with element i of the second. (The paper pairs neighbours, 2i with 2i + 1.)
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "reference/model/row_matrix.h"

namespace pagelab {

/// Cosines and sines of a batch's angles, shared by all heads and layers.
struct RopeAngles {
  RowMatrix cosine;  ///< [num_tokens, head_size / 2]
  RowMatrix sine;    ///< [num_tokens, head_size / 2]
};

/// The angles of a batch: position · theta^(−2i / head_size), in float64.
/// \param positions  [num_tokens]
/// \param head_size  elements of a head, even
/// \param theta      base of the wavelengths, usually 10000
/// \source           RoFormer (Su et al. 2021), equation 15
inline RopeAngles rope_angles(std::span<const std::int64_t> positions,
                              std::int64_t head_size,
                              double theta) {
  const Eigen::Index num_tokens = static_cast<Eigen::Index>(positions.size());
  const Eigen::Index num_pairs = head_size / 2;
  RopeAngles angles{RowMatrix(num_tokens, num_pairs), RowMatrix(num_tokens, num_pairs)};
  for (Eigen::Index pair = 0; pair < num_pairs; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(head_size);
    const double radians_per_position = std::pow(theta, exponent);
    for (Eigen::Index token_idx = 0; token_idx < num_tokens; ++token_idx) {
      const double angle = static_cast<double>(positions[token_idx]) * radians_per_position;
      angles.cosine(token_idx, pair) = std::cos(angle);
      angles.sine(token_idx, pair) = std::sin(angle);
    }
  }
  return angles;
}

/// Turns every head of every token, in place.
/// \param x       [num_tokens, num_heads · head_size] queries or keys
/// \param angles  of the same tokens
/// \source        Hugging Face transformers, models/llama/modeling_llama.py, rotate_half
inline void apply_rope(RowMatrix& x, const RopeAngles& angles) {
  const Eigen::Index num_pairs = angles.cosine.cols();
  const Eigen::Index head_size = 2 * num_pairs;
  for (Eigen::Index token_idx = 0; token_idx < x.rows(); ++token_idx) {
    for (Eigen::Index head_begin = 0; head_begin < x.cols(); head_begin += head_size) {
      for (Eigen::Index pair = 0; pair < num_pairs; ++pair) {
        double& first = x(token_idx, head_begin + pair);
        double& second = x(token_idx, head_begin + num_pairs + pair);
        const double cosine = angles.cosine(token_idx, pair);
        const double sine = angles.sine(token_idx, pair);
        const double turned_first = first * cosine - second * sine;
        const double turned_second = second * cosine + first * sine;
        first = turned_first;
        second = turned_second;
      }
    }
  }
}

}  // namespace pagelab
