/// \file
/// Tensor owns a row-major array whose element type is known at run time; TensorView sees an array
/// of known type and rank, with strides. Nothing here computes: algorithms use views, Eigen maps or
/// rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/tensor/byte_array.h"
#include "reference/tensor/dtype.h"

namespace pagelab {

/// Lengths of the axes, outermost first.
using Shape = std::vector<std::int64_t>;

/// A shape as it is written in messages: "[3, 4, 64]".
std::string to_string(const Shape& shape);

/// A view of an array of `kRank` axes with strides in elements. It owns nothing.
template <typename T, int kRank>
struct TensorView {
  T* data = nullptr;                           ///< first element
  std::array<std::int64_t, kRank> shape = {};  ///< lengths of the axes
  std::array<std::int64_t, kRank> strides =
      {};  ///< elements from one index to the next, an axis each

  /// The element at these indices; they are not checked.
  template <typename... Indices>
  T& operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == kRank, "one index an axis");
    std::int64_t offset = 0;
    int axis = 0;
    ((offset += static_cast<std::int64_t>(indices) * strides[axis++]), ...);
    return data[offset];
  }

  /// First element of the innermost row at these leading indices.
  template <typename... Indices>
  T* row(Indices... indices) const {
    static_assert(sizeof...(Indices) == kRank - 1, "one index for each axis but the last");
    return &(*this)(indices..., 0);
  }
};

/// An owning row-major array. A default-constructed one has no elements and shape [0].
class Tensor {
 public:
  Tensor() : Tensor(DType::kFloat32, {0}) {}

  /// A zero-filled array.
  /// \param dtype   element type
  /// \param shape   lengths of the axes, none negative
  /// \throws Error  if a length is negative, or if the array would have more than 2^40 bytes
  Tensor(DType dtype, Shape shape);

  /// An array with these values, copied.
  /// \throws Error  if the number of values is not the shape's
  template <typename T>
  static Tensor from_values(Shape shape, const std::vector<T>& values) {
    Tensor tensor(DTypeOf<T>::kValue, std::move(shape));
    tensor.require_size(static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), tensor.data<T>());
    return tensor;
  }

  DType dtype() const { return dtype_; }                        ///< element type
  const Shape& shape() const { return shape_; }                 ///< lengths of the axes
  int rank() const { return static_cast<int>(shape_.size()); }  ///< number of axes
  std::int64_t size() const { return size_; }                   ///< number of elements
  std::int64_t size_in_bytes() const {
    return static_cast<std::int64_t>(bytes_.size());
  }  ///< bytes

  std::byte* bytes() { return bytes_.data(); }              ///< the storage
  const std::byte* bytes() const { return bytes_.data(); }  ///< the storage

  /// The elements, first to last.
  /// \throws Error  if T is not the element type
  template <typename T>
  T* data() {
    require_dtype(DTypeOf<T>::kValue);
    return reinterpret_cast<T*>(bytes_.data());
  }
  /// \copydoc data()
  template <typename T>
  const T* data() const {
    require_dtype(DTypeOf<T>::kValue);
    return reinterpret_cast<const T*>(bytes_.data());
  }

  /// A view of the whole array.
  /// \throws Error  if T is not the element type or kRank is not the rank
  template <typename T, int kRank>
  TensorView<T, kRank> view() {
    return make_view<T, kRank>(data<T>());
  }
  /// \copydoc view()
  template <typename T, int kRank>
  TensorView<const T, kRank> view() const {
    return make_view<const T, kRank>(data<T>());
  }

  /// The same bytes under another element type of the same width (uint16 → bfloat16).
  /// \throws Error  if the widths differ
  Tensor reinterpreted_as(DType dtype) const;

  /// Element `index` of the flat array as float64; integers too (exact up to 2^53).
  double value(std::int64_t index) const;

 private:
  void require_dtype(DType wanted) const;
  void require_rank(int wanted) const;
  void require_size(std::int64_t wanted) const;

  template <typename T, int kRank>
  TensorView<T, kRank> make_view(T* first) const {
    require_rank(kRank);
    TensorView<T, kRank> view;
    view.data = first;
    std::int64_t stride = 1;
    for (int axis = kRank - 1; axis >= 0; --axis) {
      view.shape[axis] = shape_[axis];
      view.strides[axis] = stride;
      stride *= shape_[axis];
    }
    return view;
  }

  DType dtype_;
  Shape shape_;
  std::int64_t size_ = 0;
  ByteArray bytes_;
};

/// Dtype, shape and the first few values: "float32 [2, 3]: 1, 2, 3, ...".
std::string to_string(const Tensor& tensor);

/// The array with every element converted to another float dtype, rounded to nearest even.
/// \throws Error  if either dtype is not a float
Tensor convert(const Tensor& tensor, DType dtype);

/// Whether two arrays have the same dtype, the same shape and the same bytes (so NaN equals
/// itself).
bool identical(const Tensor& a, const Tensor& b);

}  // namespace pagelab
