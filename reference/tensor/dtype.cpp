#include "reference/tensor/dtype.h"

#include <array>

namespace pagelab {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int bytes;
};

constexpr std::array<DTypeRow, 10> kDTypes = {{
    {DType::kFloat64, "float64", 8},
    {DType::kFloat32, "float32", 4},
    {DType::kFloat16, "float16", 2},
    {DType::kBFloat16, "bfloat16", 2},
    {DType::kFp8E4M3, "fp8_e4m3", 1},
    {DType::kFp8E5M2, "fp8_e5m2", 1},
    {DType::kInt32, "int32", 4},
    {DType::kInt64, "int64", 8},
    {DType::kUInt8, "uint8", 1},
    {DType::kUInt16, "uint16", 2},
}};

const DTypeRow& row_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  if (name == "fp8") return DType::kFp8E4M3;
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int bytes_of(DType dtype) { return row_of(dtype).bytes; }

bool is_activation_dtype(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

bool is_fp8(DType dtype) { return dtype == DType::kFp8E4M3 || dtype == DType::kFp8E5M2; }

}  // namespace pagelab
