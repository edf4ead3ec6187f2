#include "reference/tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace pagelab {

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;
  std::int64_t size = 1;
  for (std::int64_t length : shape_) {
    if (length < 0) {
      throw Error(fmt::format("shape {} has a negative length.", to_string(shape_)));
    }
    if (length != 0 && size > kMaxBytes / bytes_of(dtype) / length) {
      throw Error(fmt::format("an array of shape {} and dtype {} would have more than 2^40 bytes.",
                              to_string(shape_), to_string(dtype)));
    }
    size *= length;
  }
  size_ = size;
  bytes_ = ByteArray(static_cast<std::size_t>(size * bytes_of(dtype)));
}

Tensor Tensor::reinterpreted_as(DType dtype) const {
  if (bytes_of(dtype) != bytes_of(dtype_)) {
    throw Error(fmt::format("a {} array cannot be read as {}: elements have {} and {} bytes.",
                            to_string(dtype_), to_string(dtype), bytes_of(dtype_),
                            bytes_of(dtype)));
  }
  Tensor result = *this;
  result.dtype_ = dtype;
  return result;
}

double Tensor::value(std::int64_t index) const {
  switch (dtype_) {
    case DType::kInt32:
      return data<std::int32_t>()[index];
    case DType::kInt64:
      return static_cast<double>(data<std::int64_t>()[index]);
    case DType::kUInt8:
      return data<std::uint8_t>()[index];
    case DType::kUInt16:
      return data<std::uint16_t>()[index];
    default:
      return visit_float_dtype(dtype_,
                               [&]<typename T>(T) { return load_as<double>(data<T>()[index]); });
  }
}

void Tensor::require_dtype(DType wanted) const {
  if (dtype_ != wanted) {
    throw Error(fmt::format("the array is {}, but {} was asked for.", to_string(dtype_),
                            to_string(wanted)));
  }
}

void Tensor::require_rank(int wanted) const {
  if (rank() != wanted) {
    throw Error(fmt::format("the array has shape {}, but {} axes were asked for.",
                            to_string(shape_), wanted));
  }
}

void Tensor::require_size(std::int64_t wanted) const {
  if (size_ != wanted) {
    throw Error(fmt::format("shape {} holds {} elements, but {} values were given.",
                            to_string(shape_), size_, wanted));
  }
}

std::string to_string(const Tensor& tensor) {
  constexpr std::int64_t kShown = 6;
  std::string text = fmt::format("{} {}:", to_string(tensor.dtype()), to_string(tensor.shape()));
  for (std::int64_t index = 0; index < tensor.size() && index < kShown; ++index) {
    text += fmt::format("{}{:.6g}", index == 0 ? " " : ", ", tensor.value(index));
  }
  if (tensor.size() > kShown) text += ", ...";
  return text;
}

Tensor convert(const Tensor& tensor, DType dtype) {
  Tensor result(dtype, tensor.shape());
  visit_float_dtype(tensor.dtype(), [&]<typename From>(From) {
    const From* from = tensor.data<From>();
    visit_float_dtype(dtype, [&]<typename To>(To) {
      To* to = result.data<To>();
      for (std::int64_t index = 0; index < tensor.size(); ++index) {
        to[index] = store_as<To>(load_as<double>(from[index]));
      }
    });
  });
  return result;
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.size() == 0 ||
         std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size_in_bytes())) == 0;
}

}  // namespace pagelab
