// The rung of matmul that runs on tensor cores: exact where every sum is; the bits of its stated order;
// and the true product within the bound of that order.

#include <doctest/doctest.h>

#include <cmath>

#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/tensor_core.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using Element = BFloat16;

double value_of(Element element) { return load_as<double>(element); }

// Numbers drawn from a function, rounded to bfloat16.
template <typename Draw>
Matrix<Element> matrix_of(std::int64_t rows, std::int64_t columns, const Draw& draw) {
  Matrix<Element> matrix = {rows, columns, {}};
  for (std::int64_t index = 0; index < rows * columns; ++index) {
    matrix.elements.push_back(store_as<Element>(draw()));
  }
  return matrix;
}

Matrix<Element> random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Random random(seed);
  return matrix_of(rows, columns, [&] {
    const double exponent = static_cast<double>(random.whole(-8, 8));
    return random.real(-1.0, 1.0) * std::exp2(exponent);
  });
}

// Steps of 16 elements, each one sum by the rules of the hardware; zeros past the end.
float in_stated_order(const Matrix<Element>& a,
                      const Matrix<Element>& b,
                      std::int64_t row,
                      std::int64_t column) {
  float sum = 0.0f;
  for (std::int64_t first = 0; first < a.columns; first += 16) {
    std::uint16_t a_row[16] = {};
    std::uint16_t b_column[16] = {};
    for (std::int64_t i = 0; i < std::min<std::int64_t>(16, a.columns - first); ++i) {
      a_row[i] = a.at(row, first + i).bits;
      b_column[i] = b.at(first + i, column).bits;
    }
    sum = simt::mma_by_the_rules(a_row, b_column, 16, sum, simt::MmaInput::kBFloat16);
  }
  return sum;
}

// One step cuts each of its 17 terms to a multiple of 2^(E − 25), where 2^E is at most the largest
// term, and then the sum to 24 bits: an error of at most (17 · 2^-25 + 2^-23) times the sum of the
// terms' magnitudes, C's included. C is at most Σ|a·b| (1 + what it errs so far), so s steps err by at
// most γ · Σ|a·b| with γ = s u / (1 − s u), u = 17 · 2^-25 + 2^-23.
void check_element(const Matrix<Element>& a,
                   const Matrix<Element>& b,
                   std::int64_t row,
                   std::int64_t column,
                   float got) {
  double exact = 0.0;  // products are exact in double; the sum errs by far less than the bound
  double sum_of_magnitudes = 0.0;
  for (std::int64_t i = 0; i < a.columns; ++i) {
    const double product = value_of(a.at(row, i)) * value_of(b.at(i, column));
    exact += product;
    sum_of_magnitudes += std::fabs(product);
  }
  const double num_steps = static_cast<double>((a.columns + 15) / 16);
  const double s_u = num_steps * (17 * 0x1p-25 + 0x1p-23);
  const double bound = s_u / (1.0 - s_u) * sum_of_magnitudes;
  const float expected = in_stated_order(a, b, row, column);
  const bool is_right =
      bits_of(got) == bits_of(expected) && std::fabs(static_cast<double>(got) - exact) <= bound;
  if (!is_right) {
    FAIL_CHECK("c[" << row << "][" << column << "] is " << got << ", but should be " << expected);
  }
}

void check_product(const std::shared_ptr<Device>& device,
                   std::int64_t m,
                   std::int64_t n,
                   std::int64_t k) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const Matrix<Element> a = random_matrix(m, k, 3 * static_cast<std::uint64_t>(m + k));
  const Matrix<Element> b = random_matrix(k, n, 5 * static_cast<std::uint64_t>(n + k));
  const Matrix<float> c = multiply_on(device, kernels_of(*device).matmul_tensor_cores, a, b, 32);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      check_element(a, b, row, column, c.at(row, column));
    }
  }
}

void check_sizes(const std::shared_ptr<Device>& device) {
  for (std::int64_t m : {1, 5, 31, 33}) {
    for (std::int64_t n : {1, 32, 45}) {
      for (std::int64_t k : {1, 15, 16, 33}) check_product(device, m, n, k);
    }
  }
  check_product(device, 70, 45, 53);
  check_product(device, 3, 4, 0);
  check_product(device, 0, 4, 5);
}

// Whole numbers up to 9 in a sum of 53 products: every sum is a whole number below 2^13 and exact, in
// whatever order it is added up. Elements that went to a wrong place show here.
void check_whole_numbers(const std::shared_ptr<Device>& device) {
  Random random(4);
  const auto draw = [&] { return static_cast<double>(random.whole(-9, 9)); };
  const Matrix<Element> a = matrix_of(37, 53, draw);
  const Matrix<Element> b = matrix_of(53, 41, draw);
  const Matrix<float> c = multiply_on(device, kernels_of(*device).matmul_tensor_cores, a, b, 32);
  for (std::int64_t row = 0; row < 37; ++row) {
    for (std::int64_t column = 0; column < 41; ++column) {
      double expected = 0.0;
      for (std::int64_t i = 0; i < 53; ++i) {
        expected += value_of(a.at(row, i)) * value_of(b.at(i, column));
      }
      CHECK(static_cast<double>(c.at(row, column)) == expected);
    }
  }
}

}  // namespace

TEST_SUITE("matmul on tensor cores") {
  TEST_CASE("K14: products of every size around the tile have the stated bits (simulators)") {
    on_simulators_in_all_orders(check_sizes);
  }
  TEST_CASE("K14: products of every size around the tile have the stated bits (GPU)") {
    if (const auto device = gpu_or_skip()) check_sizes(device);
  }

  TEST_CASE("products of whole numbers are exact (simulators)") {
    for (const auto& device : simulators()) check_whole_numbers(device);
  }
  TEST_CASE("products of whole numbers are exact (GPU)") {
    if (const auto device = gpu_or_skip()) check_whole_numbers(device);
  }

#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  // One tile of C, 4 warps, 2 steps of 16. In each step a warp loads 8 elements of A a lane, and for
  // each of 2 squares 4 of B: 4 · 2 · (8 + 2 · 4) = 128 requests. The 32 lanes stay together, whichever
  // of them came to an mma last.
  TEST_CASE("lanes that met in an mma make their next requests together") {
    const auto device = checked_simulator_device();
    const Matrix<Element> a = random_matrix(32, 32, 1);
    const Matrix<Element> b = random_matrix(32, 32, 2);
    const simt::ScopedCounting counting;
    multiply_on(device, kernels_of(*device).matmul_tensor_cores, a, b, 32);
    const simt::LaunchCounters& launch = counting.launches().back();
    CHECK(launch.totals.of(simt::MemoryKind::kSharedLoad).requests == 128);
    CHECK(launch.totals.of(simt::WordKind::kMma) == 16);
  }
#endif

  TEST_CASE("the tensor-core rung refuses another tile than its own") {
    const auto device = simulator_device();
    const Matrix<Element> one = {1, 1, {store_as<Element>(1.0)}};
    const auto rung = kernels_of(*device).matmul_tensor_cores;
    CHECK_THROWS_WITH_AS(
        multiply_on(device, rung, one, one, 16),
        "matmul/3_tensor_cores: tile is 16, but the tiles of this rung have 32 rows and columns.",
        Error);
  }
}
