/// \file
/// One element on its way into the cache and out of it: what is rounded, when, and by what it is
/// divided. Written once, for the reference, the simulator and the GPU.
#pragma once

#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Whether a storage type is fp8, and so has a scale.
template <typename Stored>
inline constexpr bool kIsFp8 = false;
/// \cond
template <>
inline constexpr bool kIsFp8<Fp8E4M3> = true;
template <>
inline constexpr bool kIsFp8<Fp8E5M2> = true;
/// \endcond

/// Whether two types are one.
template <typename A, typename B>
inline constexpr bool kIsSame = false;
/// \cond
template <typename A>
inline constexpr bool kIsSame<A, A> = true;
/// \endcond

/// What the cache stores for a new key or value element.
/// The same type is copied bit for bit; fp8 stores x / scale, saturated; all else is rounded once.
/// \tparam Stored  the cache's element type
/// \tparam Source  the element type of the new keys and values
/// \param x        the element
/// \param scale    the KV head's k_scale or v_scale; fp8 alone uses it
/// \source         vLLM csrc/cache_kernels.cu, reshape_and_cache_flash
template <typename Stored, typename Source>
PAGELAB_HD inline Stored cache_element(Source x, float scale) {
  if constexpr (kIsSame<Stored, Source>) {
    return x;
  } else if constexpr (kIsFp8<Stored> && kIsSame<Source, double>) {
    return store_as<Stored>(x / static_cast<double>(scale));
  } else if constexpr (kIsFp8<Stored>) {
    const float scaled = load_as<float>(x) / scale;
    return store_as<Stored>(static_cast<double>(scaled));
  } else if constexpr (kIsSame<Stored, float> || kIsSame<Stored, double>) {
    return canonical_nan(store_as<Stored>(load_as<double>(x)));
  } else {
    return store_as<Stored>(load_as<double>(x));
  }
}

/// What a cache element stands for, as the type that the arithmetic runs in: fp8 codes times the
/// scale, all else as it is. One rounding at most.
/// \tparam Real   float or double
/// \param stored  the element
/// \param scale   the KV head's k_scale or v_scale; fp8 alone uses it
template <typename Real, typename Stored>
PAGELAB_HD inline Real cache_value(Stored stored, float scale) {
  if constexpr (kIsFp8<Stored>) {
    return load_as<Real>(stored) * load_as<Real>(scale);
  } else {
    return load_as<Real>(stored);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
