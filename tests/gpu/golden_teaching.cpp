#include "tests/gpu/golden_teaching.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/backends/kernels_of.h"
#include "tests/gpu/byte_hash.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

// Below, at and above a warp; several thread blocks and a remainder; more than 1,024 thread blocks of
// 32 threads have.
constexpr std::int64_t kCounts[] = {1, 5, 31, 32, 33, 1000, 70001};
constexpr unsigned int kGoldenThreads[] = {32, 96, 256, 1024};

// Numbers of both signs and many sizes.
std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    const double exponent = static_cast<double>(random.whole(-12, 12));
    value = static_cast<float>(random.real(-1.0, 1.0) * std::exp2(exponent));
  }
  return values;
}

std::vector<BFloat16> in_bfloat16(const std::vector<float>& values) {
  std::vector<BFloat16> rounded;
  for (float value : values) rounded.push_back(store_as<BFloat16>(static_cast<double>(value)));
  return rounded;
}

template <typename Input>
std::uint64_t hash_of(const std::vector<Input>& values) {
  ByteHash hash;
  hash.add(values);
  return hash.value();
}

// "rung seed size configuration inputs outputs values…".
template <typename Output>
std::string line_of(const std::string& what,
                    std::uint64_t inputs,
                    const std::vector<Output>& outputs) {
  static_assert(sizeof(Output) == 4);
  std::string line = fmt::format("{} {:016x} {:016x}", what, inputs, hash_of(outputs));
  for (std::size_t index = 0; index < std::min<std::size_t>(4, outputs.size()); ++index) {
    std::uint32_t bits;
    std::memcpy(&bits, &outputs[index], 4);
    line += fmt::format(" {:08x}", bits);
  }
  return line;
}

class Table {
 public:
  explicit Table(std::shared_ptr<Device> device)
      : device_(std::move(device)), kernels_(kernels_of(*device_)) {}

  std::vector<std::string> lines() {
    for (std::int64_t count : kCounts) {
      for (unsigned int threads : kGoldenThreads) add_one_dimensional(count, threads);
    }
    for (const auto& [rows, columns] : {std::pair{1, 33}, {31, 32}, {70, 45}, {257, 129}}) {
      for (unsigned int threads : kGoldenThreads) add_transpose(rows, columns, threads);
    }
    const std::int64_t sizes[][3] = {{1, 1, 1}, {5, 31, 33}, {33, 45, 70}, {64, 64, 256}};
    for (const auto& [m, n, k] : sizes) add_products(m, n, k);
    return lines_;
  }

 private:
  void add_one_dimensional(std::int64_t count, unsigned int threads) {
    const std::uint64_t seed = ++seed_;
    const std::string size = fmt::format("{} {} {}", seed, count, threads);
    const std::vector<float> floats = random_floats(count, seed);
    for (const auto& rung : kernels_.block_reduce) {
      const std::vector<float> sum = {sum_on(device_, rung, floats, threads)};
      add(rung.name, size, hash_of(floats), sum);
    }
    for (const auto& rung : kernels_.scan_float) {
      add(rung.name, size, hash_of(floats), scan_on(device_, rung, floats, threads));
    }
    Random random(seed);
    std::vector<std::int32_t> integers(static_cast<std::size_t>(count));
    for (std::int32_t& value : integers) {
      value = static_cast<std::int32_t>(random.whole(-9999, 9999));
    }
    for (const auto& rung : kernels_.scan_int32) {
      const std::string name = std::string(rung.name) + ":int32";
      add(name, size, hash_of(integers), scan_on(device_, rung, integers, threads));
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    for (std::uint8_t& value : bytes) value = static_cast<std::uint8_t>(random.whole(0, 255));
    const std::vector<unsigned int> zeros(kHistogramBins, 0);
    for (const auto& rung : kernels_.histogram) {
      add(rung.name, size, hash_of(bytes), histogram_on(device_, rung, bytes, threads, zeros));
    }
  }

  void add_transpose(std::int64_t rows, std::int64_t columns, unsigned int threads) {
    const std::uint64_t seed = ++seed_;
    const Matrix<float> input = {rows, columns, random_floats(rows * columns, seed)};
    const std::string size = fmt::format("{} {}x{} {}", seed, rows, columns, threads);
    for (const auto& rung : kernels_.transpose) {
      const Matrix<float> output = transpose_on(device_, rung, input, threads);
      add(rung.name, size, hash_of(input.elements), output.elements);
    }
  }

  void add_products(std::int64_t m, std::int64_t n, std::int64_t k) {
    const std::uint64_t seed = ++seed_;
    const Matrix<float> a = {m, k, random_floats(m * k, seed)};
    const Matrix<float> b = {k, n, random_floats(k * n, seed + 1000)};
    ByteHash inputs;
    inputs.add(a.elements);
    inputs.add(b.elements);
    for (unsigned int tile : {8u, 16u, 32u}) {
      const std::string size = fmt::format("{} {}x{}x{} {}", seed, m, n, k, tile);
      for (const auto& rung : kernels_.matmul) {
        const Matrix<float> c = multiply_on(device_, rung, a, b, tile);
        add(rung.name, size, inputs.value(), c.elements);
      }
    }
    const Matrix<BFloat16> a16 = {m, k, in_bfloat16(a.elements)};
    const Matrix<BFloat16> b16 = {k, n, in_bfloat16(b.elements)};
    const auto& rung = kernels_.matmul_tensor_cores;
    const Matrix<float> c = multiply_on(device_, rung, a16, b16, 32);
    add(rung.name, fmt::format("{} {}x{}x{} 32", seed, m, n, k), inputs.value(), c.elements);
  }

  template <typename Output>
  void add(const std::string& rung,
           const std::string& size,
           std::uint64_t inputs,
           const std::vector<Output>& outputs) {
    lines_.push_back(line_of(rung + " " + size, inputs, outputs));
  }

  std::shared_ptr<Device> device_;
  KernelSet kernels_;
  std::uint64_t seed_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> teaching_kernel_lines(const std::shared_ptr<Device>& device) {
  return Table(device).lines();
}

}  // namespace pagelab::test
