/// \file
/// Attention written once more, for the tests of the error bound: the canonical order over plain
/// vectors, in any precision, with faults that can be switched on. It shares no code with
/// reference/attention.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/contract/attention_step.h"
#include "reference/numerics/error_bound.h"

namespace pagelab::test {

/// What a wrong implementation does wrong.
enum class Fault : std::uint8_t {
  kNone,         ///< nothing
  kDropOneKey,   ///< forgets the first visible key of every row that sees two or more
  kScaleOff,     ///< multiplies scores by 1.001 · scale
  kRoundP,       ///< rounds p to bfloat16 before the second product
  kRoundOutput,  ///< rounds the result to bfloat16
};

/// Output and LSE, widened to float64.
struct PlainResult {
  Tensor output;  ///< [T, num_query_heads, head_size_v]
  Tensor lse;     ///< [num_query_heads, T]
};

/// Attends over the cache as it stands.
/// \tparam Real  float, double or long double (the exact result, as far as tests need it)
template <typename Real>
PlainResult plain_attention(const AttentionStep& step, Fault fault = Fault::kNone);

/// The step with its new keys and values stored in its cache, as error_bound wants it.
AttentionStep with_tokens_stored(AttentionStep step);

/// How the results of an implementation lie within a bound.
struct BoundUse {
  std::int64_t compared = 0;   ///< elements with a finite, positive bound
  std::int64_t exceeding = 0;  ///< elements outside their bound, of any kind
  double worst_share = 0.0;    ///< largest |got − expected| / bound

  void join(const BoundUse& other);  ///< adds another comparison
};

/// Compares element by element. Where the bound is 0 or NaN the results have to be equal, or both
/// NaN.
BoundUse use_of_bound(const Tensor& got, const Tensor& expected, const Tensor& bound);

}  // namespace pagelab::test
