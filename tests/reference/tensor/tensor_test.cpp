#include "reference/tensor/tensor.h"

#include <doctest/doctest.h>

using namespace pagelab;

TEST_SUITE("tensor") {
  TEST_CASE("a view's last index moves by one element") {
    const Tensor tensor = Tensor::from_values<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorView<const float, 2> view = tensor.view<float, 2>();
    CHECK(view(0, 2) == 3.0f);
    CHECK(view(1, 0) == 4.0f);
    CHECK(view.row(1)[2] == 6.0f);
  }

  TEST_CASE("a tensor read as another type is refused in a sentence that names both") {
    const Tensor tensor(DType::kFloat32, {2});
    CHECK_THROWS_WITH_AS(tensor.data<double>(), "the array is float32, but float64 was asked for.",
                         Error);
  }

  TEST_CASE("values outside a shape are refused") {
    CHECK_THROWS_WITH_AS(Tensor::from_values<float>({2, 3}, {1, 2}),
                         "shape [2, 3] holds 6 elements, but 2 values were given.", Error);
    CHECK_THROWS_WITH_AS(Tensor(DType::kFloat32, {2, -3}), "shape [2, -3] has a negative length.",
                         Error);
    CHECK_THROWS_AS(Tensor(DType::kFloat64, {1 << 30, 1 << 30, 1 << 30}), Error);
  }

  TEST_CASE("identical compares bits, so a NaN equals itself and +0 differs from -0") {
    const float nan = float_from_bits(0x7fc00001u);
    CHECK(
        identical(Tensor::from_values<float>({1}, {nan}), Tensor::from_values<float>({1}, {nan})));
    CHECK_FALSE(identical(Tensor::from_values<float>({1}, {0.0f}),
                          Tensor::from_values<float>({1}, {-0.0f})));
  }

  TEST_CASE("a bfloat16 bit pattern converts to the float it stands for") {
    // 0x3fc0: sign 0, exponent 127, mantissa 1000000 → 1.5.
    const Tensor bits = Tensor::from_values<std::uint16_t>({1}, {0x3fc0});
    const Tensor as_bf16 = bits.reinterpreted_as(DType::kBFloat16);
    CHECK(as_bf16.value(0) == 1.5);
    CHECK(convert(as_bf16, DType::kFloat32).data<float>()[0] == 1.5f);
  }
}
