// The kernels of a model's layers against the functions of reference/model: the same bits.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "reference/model/linear.h"
#include "reference/model/rms_norm.h"
#include "reference/model/rope.h"
#include "reference/model/swiglu.h"
#include "tests/gpu/devices.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// A matrix that is copied to a device, or back.
class OnDevice {
 public:
  OnDevice(const std::shared_ptr<Device>& device, const RowMatrix& matrix)
      : array_(device, bytes_of(matrix.size()), "matrix") {
    array_.copy_from(matrix.data());
  }
  OnDevice(const std::shared_ptr<Device>& device, std::int64_t num_elements)
      : array_(device, bytes_of(num_elements), "output") {}

  double* data() const { return array_.as<double>(); }
  RowMatrix rows(Eigen::Index num_rows, Eigen::Index size) const {
    RowMatrix matrix(num_rows, size);
    array_.copy_to(matrix.data());
    return matrix;
  }

 private:
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count) * sizeof(double);
  }
  DeviceArray array_;
};

RowMatrix random_rows(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed, double most) {
  std::mt19937_64 random(seed);
  RowMatrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = most * (static_cast<double>(random()) * 0x1p-63 - 1.0);
  }
  return matrix;
}

void check_bits(const RowMatrix& got, const RowMatrix& expected) {
  REQUIRE(got.rows() == expected.rows());
  REQUIRE(got.cols() == expected.cols());
  std::int64_t num_different = 0;
  for (Eigen::Index i = 0; i < got.size(); ++i) {
    num_different += bits_of(got.data()[i]) != bits_of(expected.data()[i]) ? 1 : 0;
  }
  CHECK(num_different == 0);
}

void check_gather(const std::shared_ptr<Device>& device) {
  const RowMatrix matrix = random_rows(11, 37, 1, 1.0);
  const std::vector<std::int32_t> indices = {10, 0, 3, 3, 7};
  const OnDevice table(device, matrix);
  const OnDevice output(device, 5 * 37);
  const DeviceArray rows = DeviceArray::copy_of(device, indices, "row_indices");
  kernels_of(*device).model.gather_rows({.matrix = table.data(),
                                         .row_indices = rows.as<std::int32_t>(),
                                         .num_rows = 5,
                                         .size = 37,
                                         .output = output.data()});
  RowMatrix expected(5, 37);
  for (Eigen::Index i = 0; i < 5; ++i) expected.row(i) = matrix.row(indices[i]);
  check_bits(output.rows(5, 37), expected);
}

void check_rms_norm(const std::shared_ptr<Device>& device, Eigen::Index tokens, Eigen::Index size) {
  CAPTURE(size);
  RowMatrix x = random_rows(tokens, size, 2, 3.0);
  x.row(0).setZero();
  const RowMatrix weight = random_rows(1, size, 3, 2.0);
  const OnDevice input(device, x);
  const OnDevice scale(device, weight);
  const OnDevice output(device, x.size());
  kernels_of(*device).model.rms_norm({.input = input.data(),
                                      .weight = scale.data(),
                                      .eps = 1e-5,
                                      .num_tokens = tokens,
                                      .size = size,
                                      .output = output.data()});
  check_bits(output.rows(tokens, size), rms_norm(x, weight, 1e-5));
}

void check_linear(const std::shared_ptr<Device>& device,
                  Eigen::Index tokens,
                  Eigen::Index in,
                  Eigen::Index out) {
  CAPTURE(out);
  const RowMatrix x = random_rows(tokens, in, 4, 1.0);
  const RowMatrix weight = random_rows(in, out, 5, 1.0);
  const RowMatrix hidden = random_rows(tokens, out, 6, 10.0);
  const OnDevice input(device, x);
  const OnDevice weights(device, weight);
  const OnDevice output(device, hidden);
  const LinearParams<double> params = {.input = input.data(),
                                       .weight = weights.data(),
                                       .num_tokens = tokens,
                                       .input_size = in,
                                       .output_size = out,
                                       .output = output.data()};
  LinearParams<double> with_residual = params;
  with_residual.residual = output.data();  // in place, as a layer does it
  const ModelKernels kernels = kernels_of(*device).model;
  kernels.linear(with_residual);
  RowMatrix expected = hidden;
  expected += linear(x, weight);
  check_bits(output.rows(tokens, out), expected);
  kernels.linear(params);
  check_bits(output.rows(tokens, out), linear(x, weight));

  // Heads come as float32 and are widened.
  std::vector<float> heads(static_cast<std::size_t>(x.size()));
  RowMatrix widened(tokens, in);
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    heads[static_cast<std::size_t>(i)] = static_cast<float>(x.data()[i]);
    widened.data()[i] = static_cast<float>(x.data()[i]);
  }
  const DeviceArray heads_on_device = DeviceArray::copy_of(device, heads, "heads");
  kernels.linear_of_heads({.input = heads_on_device.as<float>(),
                           .weight = weights.data(),
                           .num_tokens = tokens,
                           .input_size = in,
                           .output_size = out,
                           .output = output.data()});
  check_bits(output.rows(tokens, out), linear(widened, weight));
}

RowMatrix floats_of(const DeviceArray& array, Eigen::Index rows, Eigen::Index columns) {
  std::vector<float> floats(array.bytes() / sizeof(float));
  array.copy_to(floats.data());
  RowMatrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = floats[static_cast<std::size_t>(i)];
  }
  return matrix;
}

void check_rotary_embedding(const std::shared_ptr<Device>& device) {
  constexpr Eigen::Index kHeads = 3;
  constexpr Eigen::Index kHeadSize = 10;
  const std::vector<std::int64_t> positions = {0, 1, 999, 17, 17};
  // The table of 1000 positions, from the function that the reference takes its angles from.
  std::vector<std::int64_t> all_positions(1000);
  for (std::size_t i = 0; i < all_positions.size(); ++i) all_positions[i] = static_cast<int>(i);
  const RopeAngles table = rope_angles(all_positions, kHeadSize, 10000.0);
  RowMatrix cos_sin(1000, kHeadSize);
  cos_sin << table.cosine, table.sine;

  const RowMatrix x = random_rows(5, kHeads * kHeadSize, 7, 2.0);
  const OnDevice input(device, x);
  const OnDevice angles(device, cos_sin);
  const DeviceArray places = DeviceArray::copy_of(device, positions, "positions");
  const DeviceArray output(device, static_cast<std::size_t>(x.size()) * sizeof(float), "heads");
  kernels_of(*device).model.rotary_embedding({.input = input.data(),
                                              .positions = places.as<std::int64_t>(),
                                              .cos_sin_cache = angles.data(),
                                              .num_tokens = 5,
                                              .num_heads = kHeads,
                                              .head_size = kHeadSize,
                                              .output = output.as<float>()});
  RowMatrix turned = x;
  apply_rope(turned, rope_angles(positions, kHeadSize, 10000.0));
  for (double& element : turned.reshaped()) element = static_cast<float>(element);
  check_bits(floats_of(output, 5, kHeads * kHeadSize), turned);
}

void check_elementwise(const std::shared_ptr<Device>& device) {
  RowMatrix gate = random_rows(7, 43, 8, 30.0);
  gate.row(0) *= 40.0;  // beyond where the exponential overflows, and where it vanishes
  gate(1, 0) = -0.0;
  gate(1, 1) = std::numeric_limits<double>::infinity();
  const RowMatrix up = random_rows(7, 43, 9, 5.0);
  const OnDevice gates(device, gate);
  const OnDevice ups(device, up);
  const ModelKernels kernels = kernels_of(*device).model;
  const DeviceArray rounded(device, static_cast<std::size_t>(up.size()) * sizeof(float), "values");
  kernels.round_to_float(
      {.input = ups.data(), .num_elements = up.size(), .output = rounded.as<float>()});
  RowMatrix expected = up;
  for (double& element : expected.reshaped()) element = static_cast<float>(element);
  check_bits(floats_of(rounded, 7, 43), expected);

  kernels.silu_and_mul(
      {.gate = gates.data(), .up = ups.data(), .num_elements = up.size(), .output = gates.data()});
  check_bits(gates.rows(7, 43), swiglu(gate, up));
}

void check_all(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  check_gather(device);
  for (const Eigen::Index size : {1, 5, 64, 129}) check_rms_norm(device, 3, size);
  check_linear(device, 1, 1, 1);
  check_linear(device, 3, 33, 13);
  check_linear(device, 5, 64, 129);
  check_rotary_embedding(device);
  check_elementwise(device);
}

}  // namespace

TEST_SUITE("model kernels") {
  TEST_CASE("every kernel of a layer has the bits of the reference (simulators)") {
    for (const auto& device : simulators()) check_all(device);
  }
  TEST_CASE("every kernel of a layer has the bits of the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_all(device);
  }

  TEST_CASE("a kernel of a layer refuses what cannot be launched in one sentence") {
    const ModelKernels kernels = kernels_of(*simulator_device()).model;
    double number = 0;
    float rounded = 0;
    const std::int64_t position = 0;
    CHECK_THROWS_WITH_AS(
        kernels.gather_rows({.num_rows = 2, .size = 3}),
        "model/gather_rows: matrix is a null pointer, but the kernel uses 6 elements of it. Was "
        "the array allocated on the device?",
        Error);
    CHECK_THROWS_WITH_AS(kernels.rms_norm({.num_tokens = 1, .size = 0}),
                         "model/rms_norm: size is 0, but it must be from 1 to 2147483648.", Error);
    CHECK_THROWS_WITH_AS(kernels.linear({.num_tokens = -1}),
                         "model/linear: num_tokens is -1, but it must be from 0 to 2147483648.",
                         Error);
    CHECK_THROWS_WITH_AS(kernels.rotary_embedding({.input = &number,
                                                   .positions = &position,
                                                   .cos_sin_cache = &number,
                                                   .num_tokens = 1,
                                                   .num_heads = 1,
                                                   .head_size = 3,
                                                   .output = &rounded}),
                         "model/rotary_embedding: head_size is 3, but it must be even: elements "
                         "turn in pairs.",
                         Error);
  }
}
