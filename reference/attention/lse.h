/// \file
/// The logarithm of a sum of exponentials, with its base in the type. FlashAttention returns
/// natural logarithms, FlashInfer base 2; mixing them crashes nothing and degrades every answer a
/// little.
#pragma once

#include <numbers>

namespace pagelab {

template <typename Real>
struct LseBase2;

/// ln Σ exp(s): what FlashAttention, Triton and the reference return. −∞ for an empty set of keys.
template <typename Real>
struct LseNatural {
  Real value;  ///< natural logarithm
  /// The same quantity in base 2.
  LseBase2<Real> to_base2() const;
};

/// log2 Σ exp(s): what FlashInfer's wrappers return.
template <typename Real>
struct LseBase2 {
  Real value;  ///< base-2 logarithm
  /// The same quantity in base e.
  LseNatural<Real> to_natural() const { return {value * std::numbers::ln2_v<Real>}; }
};

template <typename Real>
LseBase2<Real> LseNatural<Real>::to_base2() const {
  return {value * std::numbers::log2e_v<Real>};
}

}  // namespace pagelab
