/// \file
/// Precision: in which types an implementation computes, and in which order it sums, as far as this says how
/// large its errors may become. What follows from it, error_bound.h computes.
#pragma once

#include <cstdint>
#include <string>

#include "reference/numerics/exact_math.h"
#include "reference/tensor/dtype.h"

namespace pagelab {

/// The largest error of `ex2.approx` on an H200, in ulps, seen over all floats (simulator/simt/ex2.h).
inline constexpr double kEx2ApproxUlps = 2.06;

/// In which types an implementation computes, and how many roundings more than the canonical order
/// it has.
struct Precision {
  DType arithmetic = DType::kFloat32;     ///< of scores, softmax and sums: float32 or float64
  DType probabilities = DType::kFloat32;  ///< p is rounded to it before it multiplies a value
  DType output = DType::kFloat32;         ///< the result is rounded to it

  /// Roundings that a term of the sums over keys passes besides those of one chain: merging of
  /// splits. 0 for the canonical order.
  std::int64_t extra_roundings = 0;

  /// Online softmax: after each stretch of so many keys the sums so far are multiplied by what the
  /// maximum's growth makes of them. 0: the maximum is known before the sums begin.
  std::int64_t keys_per_rescaling = 0;

  /// Whether both products, query · key and p · value, are summed by tensor cores: 16 exact products
  /// of operands of the type `probabilities` and the sum so far at once, cut off towards zero. The
  /// scale of an fp8 cache then multiplies the score and the result instead of each element.
  bool tensor_core_sums = false;

  /// The largest error of 2^x, in ulps: exact_exp2's, or that of a GPU's special-function unit.
  double exponential_ulps = kExactExp2Ulps;

  /// 0: every sum is allowed its worst case, n roundings in the same direction; nothing correct
  /// exceeds it. λ > 0: roundings count as independent, and a sum of n terms exceeds its share with
  /// probability at most 2·exp(−λ²/2) (8: 2.5e-14). Sharper for n > λ², but no promise for data
  /// whose roundings are alike, such as equal probabilities.
  double confidence = 0.0;

  /// The canonical order in float: REFERENCE_FLOAT, NAIVE.
  static Precision canonical_float();
  /// The canonical order in double: REFERENCE against the exact result.
  static Precision canonical_double();
  /// Online softmax in float, with a rescaling after each tile of keys.
  /// \param keys_per_tile  1 or more
  static Precision online_float(std::int64_t keys_per_tile);
  /// Products of 16-bit operands on Hopper's tensor cores, with float32 sums, online softmax, and `ex2.approx`.
  /// \param operands       float16 or bfloat16: of query, key and value, and what p is rounded to
  /// \param output         what the result is rounded to
  /// \param keys_per_tile  as for online_float; 0 if there is no online softmax
  static Precision tensor_core(DType operands, DType output, std::int64_t keys_per_tile);
};

/// "float32 arithmetic, bfloat16 probabilities, bfloat16 output".
std::string to_string(const Precision& precision);

}  // namespace pagelab
