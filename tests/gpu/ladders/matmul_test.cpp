// The rungs of matmul that multiply floats: both have the bits of a chain of fma, and the true
// product lies within its bound.

#include <doctest/doctest.h>

#include <cmath>

#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

Matrix<float> random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Random random(seed);
  Matrix<float> matrix = {rows, columns, {}};
  for (std::int64_t index = 0; index < rows * columns; ++index) {
    const double exponent = static_cast<double>(random.whole(-8, 8));
    matrix.elements.push_back(static_cast<float>(random.real(-1.0, 1.0) * std::exp2(exponent)));
  }
  return matrix;
}

// A chain of k fused multiply-adds errs by at most γ_k · Σ|a·b| (Higham 2002, section 3.1).
void check_element(const Matrix<float>& a,
                   const Matrix<float>& b,
                   std::int64_t row,
                   std::int64_t column,
                   float got) {
  float chain = 0.0f;
  double exact = 0.0;
  double sum_of_magnitudes = 0.0;
  for (std::int64_t i = 0; i < a.columns; ++i) {
    chain = std::fma(a.at(row, i), b.at(i, column), chain);
    const double product = static_cast<double>(a.at(row, i)) * static_cast<double>(b.at(i, column));
    exact += product;
    sum_of_magnitudes += std::fabs(product);
  }
  const double k_u = static_cast<double>(a.columns) * 0x1p-24;
  const double bound = k_u / (1.0 - k_u) * sum_of_magnitudes;
  const bool is_right =
      bits_of(got) == bits_of(chain) && std::fabs(static_cast<double>(got) - exact) <= bound;
  if (!is_right) {
    FAIL_CHECK("c[" << row << "][" << column << "] is " << got << ", but should be " << chain);
  }
}

void check_product(const std::shared_ptr<Device>& device,
                   std::int64_t m,
                   std::int64_t n,
                   std::int64_t k,
                   unsigned int tile) {
  const Matrix<float> a = random_matrix(m, k, 3 * static_cast<std::uint64_t>(m + k));
  const Matrix<float> b = random_matrix(k, n, 5 * static_cast<std::uint64_t>(n + k));
  for (const auto& rung : kernels_of(*device).matmul) {
    CAPTURE(rung.name);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(tile);
    const Matrix<float> c = multiply_on(device, rung, a, b, tile);
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        check_element(a, b, row, column, c.at(row, column));
      }
    }
  }
}

void check_sizes(const std::shared_ptr<Device>& device) {
  for (std::int64_t m : {1, 5, 31, 33}) {
    for (std::int64_t n : {1, 32, 45}) {
      for (std::int64_t k : {1, 5, 32, 33}) {
        check_product(device, m, n, k, 32);
      }
    }
  }
}

void check_configurations(const std::shared_ptr<Device>& device) {
  for (unsigned int tile : {8u, 16u, 32u}) {
    check_product(device, 31, 5, 33, tile);
    check_product(device, 70, 45, 53, tile);
    check_product(device, 3, 4, 0, tile);  // a sum of nothing is 0
    check_product(device, 0, 4, 5, tile);
  }
}

// (1 2) (5 6)   (1·5 + 2·7  1·6 + 2·8)   (19 22)
// (3 4) (7 8) = (3·5 + 4·7  3·6 + 4·8) = (43 50)
void check_two_by_two(const std::shared_ptr<Device>& device) {
  const Matrix<float> a = {2, 2, {1, 2, 3, 4}};
  const Matrix<float> b = {2, 2, {5, 6, 7, 8}};
  for (const auto& rung : kernels_of(*device).matmul) {
    CHECK(multiply_on(device, rung, a, b, 16).elements == std::vector<float>{19, 22, 43, 50});
  }
}

}  // namespace

TEST_SUITE("matmul") {
  TEST_CASE("K14: products of every size around the tile have a chain's bits (simulators)") {
    for (const auto& device : simulators()) check_sizes(device);
  }
  TEST_CASE("K14: products of every size around the tile have a chain's bits (GPU)") {
    if (const auto device = gpu_or_skip()) check_sizes(device);
  }

  TEST_CASE("S7: every tile gives the same bits (simulators)") {
    on_simulators_in_all_orders(check_configurations);
  }
  TEST_CASE("S7: every tile gives the same bits (GPU)") {
    if (const auto device = gpu_or_skip()) check_configurations(device);
  }

  TEST_CASE("two by two matrices are multiplied as by hand (simulators)") {
    for (const auto& device : simulators()) check_two_by_two(device);
  }
  TEST_CASE("two by two matrices are multiplied as by hand (GPU)") {
    if (const auto device = gpu_or_skip()) check_two_by_two(device);
  }

  TEST_CASE("matmul refuses what cannot be launched in one sentence") {
    const auto device = simulator_device();
    const auto rung = kernels_of(*device).matmul[1];
    const Matrix<float> one = {1, 1, {1.0f}};
    CHECK_THROWS_WITH_AS(multiply_on(device, rung, one, one, 12),
                         "matmul/2_tiled: tile is 12, but it must be 8, 16 or 32.", Error);
    MatmulParams<float> params;
    params.m = params.n = params.k = 2;
    CHECK_THROWS_WITH_AS(rung.launch(params),
                         "matmul/2_tiled: a is a null pointer, but the kernel uses 4 elements of "
                         "it. Was the array allocated on the device?",
                         Error);
  }
}
