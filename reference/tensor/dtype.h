/// \file
/// The element types that arrays in pagelab can have, and their names in files and messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {

/// Element type of a Tensor. The first six are the floats of attention; the rest are indices, and
/// the bit patterns in which bfloat16 and fp8 travel through `.npy` files.
enum class DType : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kFp8E4M3,
  kFp8E5M2,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
};

/// The name used in step.json and in messages: "float32", "bfloat16", "fp8_e4m3", "int64", ...
std::string_view to_string(DType dtype);

/// The dtype with this name ("fp8" is e4m3, as in vLLM), or nothing.
std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes of one element.
int bytes_of(DType dtype);

/// Whether the dtype is one that query, key and value may have: float64, float32, float16,
/// bfloat16.
bool is_activation_dtype(DType dtype);

/// Whether the dtype is one of the two fp8 formats, which take k_scale and v_scale.
bool is_fp8(DType dtype);

/// The DType of a C++ element type.
template <typename T>
struct DTypeOf;
/// \cond
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType kValue = DType::kFloat16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType kValue = DType::kBFloat16;
};
template <>
struct DTypeOf<Fp8E4M3> {
  static constexpr DType kValue = DType::kFp8E4M3;
};
template <>
struct DTypeOf<Fp8E5M2> {
  static constexpr DType kValue = DType::kFp8E5M2;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::kUInt8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType kValue = DType::kUInt16;
};
/// \endcond

/// Calls `visitor` with a value of the C++ type behind a float dtype: the one switch over storage
/// types, so that algorithms are written once as templates.
/// \param dtype    one of the six float types
/// \param visitor  generic callable; its argument's type is the storage type, its value means
/// nothing \throws Error   if the dtype is not a float
template <typename Visitor>
decltype(auto) visit_float_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFloat64:
      return visitor(double{});
    case DType::kFloat32:
      return visitor(float{});
    case DType::kFloat16:
      return visitor(Float16{});
    case DType::kBFloat16:
      return visitor(BFloat16{});
    case DType::kFp8E4M3:
      return visitor(Fp8E4M3{});
    case DType::kFp8E5M2:
      return visitor(Fp8E5M2{});
    default:
      throw Error("dtype " + std::string(to_string(dtype)) + " is not a float type.");
  }
}

}  // namespace pagelab
