// All rungs of transpose against the definition, for every size around the tile.

#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Every element is its own place, so that one that went astray can be told.
Matrix<float> numbered(std::int64_t rows, std::int64_t columns) {
  Matrix<float> matrix = {rows, columns, {}};
  for (std::int64_t index = 0; index < rows * columns; ++index) {
    matrix.elements.push_back(static_cast<float>(index));
  }
  return matrix;
}

void check_transpose(const std::shared_ptr<Device>& device,
                     std::int64_t rows,
                     std::int64_t columns,
                     unsigned int threads_per_cta) {
  const Matrix<float> input = numbered(rows, columns);
  for (const auto& rung : kernels_of(*device).transpose) {
    CAPTURE(rung.name);
    CAPTURE(rows);
    CAPTURE(columns);
    CAPTURE(threads_per_cta);
    const Matrix<float> got = transpose_on(device, rung, input, threads_per_cta);
    std::int64_t num_wrong = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        // input[row][column] was given the number of its place, row · columns + column.
        const float expected = static_cast<float>(row * columns + column);
        if (!(got.at(column, row) == expected)) ++num_wrong;
      }
    }
    CHECK(num_wrong == 0);
  }
}

void check_sizes(const std::shared_ptr<Device>& device) {
  for (std::int64_t rows : {1, 5, 31, 32, 33, 70}) {
    for (std::int64_t columns : {1, 5, 31, 32, 33, 45}) {
      check_transpose(device, rows, columns, 256);
    }
  }
  check_transpose(device, 0, 5, 256);
  check_transpose(device, 5, 0, 256);
}

void check_configurations(const std::shared_ptr<Device>& device) {
  for (unsigned int threads_per_cta : kThreadsPerCta) {
    check_transpose(device, 70, 45, threads_per_cta);
    check_transpose(device, 33, 100, threads_per_cta);
  }
}

}  // namespace

TEST_SUITE("transpose") {
  TEST_CASE("K14: sizes below and at and above the tile are transposed (simulators)") {
    on_simulators_in_all_orders(check_sizes);
  }
  TEST_CASE("K14: sizes below and at and above the tile are transposed (GPU)") {
    if (const auto device = gpu_or_skip()) check_sizes(device);
  }

  TEST_CASE("S7: thread blocks of every size transpose the tile whole (simulators)") {
    on_simulators_in_all_orders(check_configurations);
  }
  TEST_CASE("S7: thread blocks of every size transpose the tile whole (GPU)") {
    if (const auto device = gpu_or_skip()) check_configurations(device);
  }

  TEST_CASE("transpose refuses what cannot be launched in one sentence") {
    const auto device = simulator_device();
    const auto rung = kernels_of(*device).transpose[2];
    CHECK_THROWS_AS(transpose_on(device, rung, numbered(2, 3), 0), Error);
    TransposeParams params;
    params.rows = 2097121;
    params.columns = 1;
    CHECK_THROWS_WITH_AS(
        rung.launch(params),
        "transpose/3_padded_tile: rows is 2097121, but it must be from 0 to 2097120.", Error);
    params.rows = 2;
    CHECK_THROWS_WITH_AS(rung.launch(params),
                         "transpose/3_padded_tile: input is a null pointer, but the kernel uses 2 "
                         "elements of it. Was the array allocated on the device?",
                         Error);
  }
}
