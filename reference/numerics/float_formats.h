/// \file
/// The small floating-point formats as plain values: bf16, fp16, and fp8 in its two forms.
/// What lives here: the bit layouts, exact decoding, and encoding with round-to-nearest-even.
/// fp8 stores saturate, as vLLM's cache writer does: 1000 becomes 448 in e4m3, and so does
/// infinity. One source for CPU, simulator and GPU; all arithmetic is on integers, so the bits
/// agree.
#pragma once

#include <cstdint>
#include <cstring>

#include "reference/numerics/target.h"

namespace pagelab {

/// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits.
struct Float16 {
  std::uint16_t bits;  ///< the code
};
/// bfloat16: the upper half of a float32. 1 sign, 8 exponent, 7 mantissa bits.
struct BFloat16 {
  std::uint16_t bits;  ///< the code
};
/// fp8 e4m3fn: 1 sign, 4 exponent, 3 mantissa bits; no infinities, largest value 448.
struct Fp8E4M3 {
  std::uint8_t bits;  ///< the code
};
/// fp8 e5m2: 1 sign, 5 exponent, 2 mantissa bits; infinities exist, largest finite value 57344.
struct Fp8E5M2 {
  std::uint8_t bits;  ///< the code
};

inline namespace PAGELAB_TARGET {

/// The bits of a float32, as an integer.
PAGELAB_HD inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The bits of a float64, as an integer.
PAGELAB_HD inline std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The float32 that has these bits.
PAGELAB_HD inline float float_from_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The float64 that has these bits.
PAGELAB_HD inline double double_from_bits(std::uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Where the fields of a small format lie, and what its largest codes mean.
/// `kMinExponent` is the exponent of the smallest normal number; `kInfinity` is 0 where the format
/// has none; `kNaN` is the one NaN code that is ever written (the one that the GPU writes).
template <typename Format>
struct FormatTraits;
/// \cond
template <>
struct FormatTraits<Float16> {
  static constexpr int kExponentBits = 5, kMantissaBits = 10, kMinExponent = -14;
  static constexpr std::uint32_t kLargest = 0x7bff, kInfinity = 0x7c00, kNaN = 0x7fff;
  static constexpr bool kSaturate = false;
};
template <>
struct FormatTraits<BFloat16> {
  static constexpr int kExponentBits = 8, kMantissaBits = 7, kMinExponent = -126;
  static constexpr std::uint32_t kLargest = 0x7f7f, kInfinity = 0x7f80, kNaN = 0x7fff;
  static constexpr bool kSaturate = false;
};
template <>
struct FormatTraits<Fp8E4M3> {
  static constexpr int kExponentBits = 4, kMantissaBits = 3, kMinExponent = -6;
  static constexpr std::uint32_t kLargest = 0x7e, kInfinity = 0, kNaN = 0x7f;
  static constexpr bool kSaturate = true;
};
template <>
struct FormatTraits<Fp8E5M2> {
  static constexpr int kExponentBits = 5, kMantissaBits = 2, kMinExponent = -14;
  static constexpr std::uint32_t kLargest = 0x7b, kInfinity = 0x7c, kNaN = 0x7f;
  static constexpr bool kSaturate = true;
};
/// \endcond

/// Rounds to the nearest value of a small format, ties to the even code.
/// \param value  any float64; float32 values pass through unchanged, so one rounding happens
/// \returns      the stored value; beyond the largest: infinity (fp16, bf16) or the largest (fp8);
///               NaN gives the format's one NaN code
template <typename Format>
PAGELAB_HD inline Format round_to(double value) {
  using Traits = FormatTraits<Format>;
  constexpr int kDoubleMantissaBits = 52;
  const std::uint64_t bits = bits_of(value);
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffull;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 63)
                             << (Traits::kExponentBits + Traits::kMantissaBits);
  const std::uint64_t double_infinity = 0x7ff0000000000000ull;

  std::uint32_t code = 0;
  if (magnitude > double_infinity) {
    return Format{static_cast<decltype(Format::bits)>(Traits::kNaN)};
  } else if (magnitude == double_infinity) {
    code = Traits::kSaturate ? Traits::kLargest : Traits::kInfinity;
  } else {
    // The value is significand · 2^(exponent − 52); float64 subnormals are far below every format.
    const int exponent = static_cast<int>(magnitude >> kDoubleMantissaBits) - 1023;
    const std::uint64_t significand =
        (magnitude & ((1ull << kDoubleMantissaBits) - 1)) | (1ull << kDoubleMantissaBits);
    // Subnormals of the format share the exponent of its smallest normal number.
    const int stored_exponent = exponent < Traits::kMinExponent ? Traits::kMinExponent : exponent;
    const int dropped_bits =
        kDoubleMantissaBits - Traits::kMantissaBits + (stored_exponent - exponent);
    if (dropped_bits <= kDoubleMantissaBits + 1) {
      // Round half to even: add just under half, and the last kept bit decides a tie.
      const std::uint64_t last_kept_bit = (significand >> dropped_bits) & 1;
      const std::uint64_t just_under_half = (1ull << (dropped_bits - 1)) - 1;
      const std::uint64_t rounded = (significand + just_under_half + last_kept_bit) >> dropped_bits;
      // The implicit leading one of `rounded` carries into the exponent field by itself.
      const std::uint64_t wide_code =
          (static_cast<std::uint64_t>(stored_exponent - Traits::kMinExponent)
           << Traits::kMantissaBits) +
          rounded;
      code = static_cast<std::uint32_t>(wide_code > 0xffffu ? 0xffffu : wide_code);
      if (code > Traits::kLargest) code = Traits::kSaturate ? Traits::kLargest : Traits::kInfinity;
    }
  }
  return Format{static_cast<decltype(Format::bits)>(code | sign)};
}

/// The exact value of a stored small float; every one of them is a float32.
/// \returns the value; NaN codes give the float32 NaN 0x7fffffff, whatever their sign and payload
template <typename Format>
PAGELAB_HD inline float decode(Format stored) {
  using Traits = FormatTraits<Format>;
  constexpr std::uint32_t kMantissaMask = (1u << Traits::kMantissaBits) - 1;
  constexpr std::uint32_t kSignMask = 1u << (Traits::kExponentBits + Traits::kMantissaBits);
  const std::uint32_t magnitude = stored.bits & (kSignMask - 1);
  const std::uint32_t sign = (stored.bits & kSignMask) != 0 ? 0x80000000u : 0u;

  if (magnitude > Traits::kLargest) {
    const bool is_infinity = Traits::kInfinity != 0 && magnitude == Traits::kInfinity;
    return float_from_bits(is_infinity ? (0x7f800000u | sign) : 0x7fffffffu);
  }
  const std::uint32_t exponent_field = magnitude >> Traits::kMantissaBits;
  const std::uint32_t mantissa = magnitude & kMantissaMask;
  if (exponent_field == 0) {
    // Subnormal: mantissa · 2^(kMinExponent − kMantissaBits). Multiplying by 2^kMinExponent first
    // and by 2^-kMantissaBits after it keeps both factors normal float32 values.
    const float unit =
        float_from_bits(static_cast<std::uint32_t>(Traits::kMinExponent + 127) << 23);
    const float step =
        float_from_bits(static_cast<std::uint32_t>(127 - Traits::kMantissaBits) << 23);
    const float value = static_cast<float>(mantissa) * step * unit;
    return float_from_bits(bits_of(value) | sign);
  }
  const int exponent = static_cast<int>(exponent_field) - 1 + Traits::kMinExponent;
  const std::uint32_t float_exponent = static_cast<std::uint32_t>(exponent + 127);
  return float_from_bits(sign | (float_exponent << 23) |
                         (mantissa << (23 - Traits::kMantissaBits)));
}

/// A stored value of any dtype, as the type that the arithmetic runs in.
/// Exact but for float64 read as float, which rounds to nearest.
/// \tparam Real  float or double
template <typename Real>
PAGELAB_HD inline Real load_as(double stored) {
  return static_cast<Real>(stored);
}
/// A stored float32, as the type that the arithmetic runs in.
/// \tparam Real  float or double
template <typename Real>
PAGELAB_HD inline Real load_as(float stored) {
  return static_cast<Real>(stored);
}
/// A stored small float, as the type that the arithmetic runs in.
/// \tparam Real    float or double
/// \tparam Format  Float16, BFloat16, Fp8E4M3 or Fp8E5M2
template <typename Real, typename Format>
PAGELAB_HD inline Real load_as(Format stored) {
  return static_cast<Real>(decode(stored));
}

/// Rounds a value to any dtype, to nearest, ties to even.
/// \tparam Stored  double, float, Float16, BFloat16, Fp8E4M3 or Fp8E5M2
template <typename Stored>
PAGELAB_HD inline Stored store_as(double value) {
  return round_to<Stored>(value);
}
/// \cond
template <>
PAGELAB_HD inline double store_as<double>(double value) {
  return value;
}
template <>
PAGELAB_HD inline float store_as<float>(double value) {
  return static_cast<float>(value);
}
/// \endcond

/// The same value, with every NaN replaced by the one that the GPU writes (0x7fffffff): x86 keeps
/// payload and sign, and bits are compared.
PAGELAB_HD inline float canonical_nan(float value) {
  return value == value ? value : float_from_bits(0x7fffffffu);
}
/// The same in double: 0x7fffffffffffffff.
PAGELAB_HD inline double canonical_nan(double value) {
  return value == value ? value : double_from_bits(0x7fffffffffffffffull);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
