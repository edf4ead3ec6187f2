#include "tests/gpu/golden_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "tests/gpu/byte_hash.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

// "kernel seed sizes inputs outputs values…"
template <typename Output>
std::string model_line(const std::string& what,
                       const ByteHash& inputs,
                       const std::vector<Output>& outputs) {
  ByteHash hash;
  hash.add(outputs);
  std::string line = fmt::format("{} {:016x} {:016x}", what, inputs.value(), hash.value());
  for (std::size_t index = 0; index < std::min<std::size_t>(4, outputs.size()); ++index) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &outputs[index], sizeof(Output));
    line += fmt::format(" {:0{}x}", bits, 2 * sizeof(Output));
  }
  return line;
}

// One size after the other, each with inputs of its own.
class ModelTable {
 public:
  explicit ModelTable(std::shared_ptr<Device> device)
      : device_(std::move(device)), kernels_(kernels_of(*device_).model) {}

  std::vector<std::string> lines() {
    const std::int64_t sizes[][3] = {{1, 1, 1}, {3, 33, 13}, {5, 64, 129}, {17, 128, 352}};
    for (const auto& [tokens, in, out] : sizes) {
      add_rows(tokens, in);
      add_norm(tokens, in);
      add_products(tokens, in, out);
      add_elementwise(tokens, out);
    }
    for (const std::int64_t head_size : {2, 10, 32, 66}) add_rotation(5, 3, head_size);
    return lines_;
  }

 private:
  // Doubles of both signs and many sizes, on the device; their bytes count as inputs of the next line.
  DeviceArray random_doubles(std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) {
      value = random_.real(-1.0, 1.0) * std::exp2(static_cast<double>(random_.whole(-9, 9)));
    }
    return input(values);
  }

  template <typename T>
  DeviceArray input(const std::vector<T>& values) {
    inputs_.add(values);
    return DeviceArray::copy_of(device_, values, "input");
  }

  DeviceArray output(std::int64_t bytes) const {
    return DeviceArray(device_, static_cast<std::size_t>(bytes), "output");
  }

  // Begins a line: its inputs depend on its seed alone.
  void begin() {
    random_ = Random(++seed_);
    inputs_ = ByteHash();
  }

  template <typename T>
  void end(const char* kernel, const std::string& sizes, const DeviceArray& array) {
    std::vector<T> outputs(array.bytes() / sizeof(T));
    array.copy_to(outputs.data());
    lines_.push_back(model_line(fmt::format("{} {} {}", kernel, seed_, sizes), inputs_, outputs));
  }

  void add_rows(std::int64_t rows, std::int64_t size) {
    begin();
    const DeviceArray matrix = random_doubles(7 * size);
    std::vector<std::int32_t> indices(static_cast<std::size_t>(rows));
    for (std::int32_t& index : indices) index = static_cast<std::int32_t>(random_.whole(0, 6));
    const DeviceArray row_indices = input(indices);
    const DeviceArray result = output(rows * size * 8);
    kernels_.gather_rows({.matrix = matrix.as<double>(),
                          .row_indices = row_indices.as<std::int32_t>(),
                          .num_rows = rows,
                          .size = size,
                          .output = result.as<double>()});
    end<double>("gather_rows", fmt::format("{}x{}", rows, size), result);
  }

  void add_norm(std::int64_t tokens, std::int64_t size) {
    begin();
    const DeviceArray x = random_doubles(tokens * size);
    const DeviceArray weight = random_doubles(size);
    const DeviceArray result = output(tokens * size * 8);
    kernels_.rms_norm({.input = x.as<double>(),
                       .weight = weight.as<double>(),
                       .eps = 1e-5,
                       .num_tokens = tokens,
                       .size = size,
                       .output = result.as<double>()});
    end<double>("rms_norm", fmt::format("{}x{}", tokens, size), result);
  }

  void add_products(std::int64_t tokens, std::int64_t in, std::int64_t out) {
    const std::string sizes = fmt::format("{}x{}x{}", tokens, in, out);
    begin();
    const DeviceArray x = random_doubles(tokens * in);
    const DeviceArray weight = random_doubles(in * out);
    const DeviceArray residual = random_doubles(tokens * out);
    const DeviceArray result = output(tokens * out * 8);
    kernels_.linear({.input = x.as<double>(),
                     .weight = weight.as<double>(),
                     .residual = residual.as<double>(),
                     .num_tokens = tokens,
                     .input_size = in,
                     .output_size = out,
                     .output = result.as<double>()});
    end<double>("linear", sizes, result);

    begin();
    std::vector<float> heads(static_cast<std::size_t>(tokens * in));
    for (float& value : heads) value = static_cast<float>(random_.real(-1.0, 1.0));
    const DeviceArray of_heads = input(heads);
    const DeviceArray weight_of_heads = random_doubles(in * out);
    kernels_.linear_of_heads({.input = of_heads.as<float>(),
                              .weight = weight_of_heads.as<double>(),
                              .num_tokens = tokens,
                              .input_size = in,
                              .output_size = out,
                              .output = result.as<double>()});
    end<double>("linear_of_heads", sizes, result);
  }

  void add_rotation(std::int64_t tokens, std::int64_t heads, std::int64_t head_size) {
    begin();
    constexpr std::int64_t kPositions = 29;
    const DeviceArray x = random_doubles(tokens * heads * head_size);
    // Any numbers do in the place of cosines and sines.
    const DeviceArray cos_sin = random_doubles(kPositions * head_size);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
    for (std::int64_t& position : positions) position = random_.whole(0, kPositions - 1);
    const DeviceArray places = input(positions);
    const DeviceArray result = output(tokens * heads * head_size * 4);
    kernels_.rotary_embedding({.input = x.as<double>(),
                               .positions = places.as<std::int64_t>(),
                               .cos_sin_cache = cos_sin.as<double>(),
                               .num_tokens = tokens,
                               .num_heads = heads,
                               .head_size = head_size,
                               .output = result.as<float>()});
    end<float>("rotary_embedding", fmt::format("{}x{}x{}", tokens, heads, head_size), result);
  }

  void add_elementwise(std::int64_t tokens, std::int64_t size) {
    const std::string sizes = fmt::format("{}x{}", tokens, size);
    begin();
    const DeviceArray values = random_doubles(tokens * size);
    const DeviceArray rounded = output(tokens * size * 4);
    kernels_.round_to_float({.input = values.as<double>(),
                             .num_elements = tokens * size,
                             .output = rounded.as<float>()});
    end<float>("round_to_float", sizes, rounded);

    begin();
    const DeviceArray gate = random_doubles(tokens * size);
    const DeviceArray up = random_doubles(tokens * size);
    const DeviceArray result = output(tokens * size * 8);
    kernels_.silu_and_mul({.gate = gate.as<double>(),
                           .up = up.as<double>(),
                           .num_elements = tokens * size,
                           .output = result.as<double>()});
    end<double>("silu_and_mul", sizes, result);
  }

  std::shared_ptr<Device> device_;
  ModelKernels kernels_;
  Random random_{0};
  std::uint64_t seed_ = 0;
  ByteHash inputs_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> model_kernel_lines(const std::shared_ptr<Device>& device) {
  return ModelTable(device).lines();
}

}  // namespace pagelab::test
