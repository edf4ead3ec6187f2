// The ladders to learn from: arrays and launches for `pagelab profile`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cli/profiled_kernels.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

// Small whole numbers, the same each time: their sums are exact.
template <typename T>
DeviceArray numbers(const DevicePtr& device, std::int64_t count, const char* name) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t idx = 0; idx < values.size(); ++idx) values[idx] = static_cast<T>(idx * 7 % 11);
  return DeviceArray::copy_of(device, values, name);
}

template <typename T>
DeviceArray room_for(const DevicePtr& device, std::int64_t count, const char* name) {
  return DeviceArray(device, static_cast<std::size_t>(count) * sizeof(T), name);
}

void launch_block_reduce(const DevicePtr& device,
                         const Shape& shape,
                         const Rung<BlockReduceParams>& rung) {
  const DeviceArray values = numbers<float>(device, shape["count"], "values");
  const DeviceArray partial_sums = room_for<float>(device, kMaxPartialSums, "partial_sums");
  const DeviceArray total = room_for<float>(device, 1, "total");
  BlockReduceParams params;
  params.values = values.as<float>();
  params.count = shape["count"];
  params.partial_sums = partial_sums.as<float>();
  params.total = total.as<float>();
  params.threads_per_cta = static_cast<unsigned int>(shape["threads_per_cta"]);
  rung.launch(params);
  device->synchronize();
}

void launch_merge_states(const DevicePtr& device,
                         const Shape& shape,
                         const Rung<MergeStatesParams>& rung) {
  const std::int64_t num_rows = shape["num_tokens"] * shape["num_query_heads"];
  const std::int64_t num_elements = num_rows * shape["head_size_v"];
  const DeviceArray prefix_output = numbers<float>(device, num_elements, "prefix_output");
  const DeviceArray prefix_lse = numbers<float>(device, num_rows, "prefix_lse");
  const DeviceArray suffix_output = numbers<float>(device, num_elements, "suffix_output");
  const DeviceArray suffix_lse = numbers<float>(device, num_rows, "suffix_lse");
  const DeviceArray output = room_for<float>(device, num_elements, "output");
  const DeviceArray lse = room_for<float>(device, num_rows, "lse");
  MergeStatesParams params;
  params.prefix_output = prefix_output.as<float>();
  params.prefix_lse = prefix_lse.as<float>();
  params.suffix_output = suffix_output.as<float>();
  params.suffix_lse = suffix_lse.as<float>();
  params.num_tokens = shape["num_tokens"];
  params.num_query_heads = shape["num_query_heads"];
  params.head_size_v = shape["head_size_v"];
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  rung.launch(params);
  device->synchronize();
}

void launch_scan(const DevicePtr& device, const Shape& shape, const Rung<ScanParams<float>>& rung) {
  const unsigned int threads_per_cta = static_cast<unsigned int>(shape["threads_per_cta"]);
  const std::int64_t count = shape["count"];
  const DeviceArray values = numbers<float>(device, count, "values");
  const DeviceArray sums = room_for<float>(device, count, "sums");
  const DeviceArray cta_totals =
      room_for<float>(device, num_scan_totals(count, threads_per_cta), "cta_totals");
  ScanParams<float> params;
  params.values = values.as<float>();
  params.sums = sums.as<float>();
  params.count = count;
  params.cta_totals = cta_totals.as<float>();
  params.threads_per_cta = threads_per_cta;
  rung.launch(params);
  device->synchronize();
}

void launch_transpose(const DevicePtr& device,
                      const Shape& shape,
                      const Rung<TransposeParams>& rung) {
  const std::int64_t num_elements = shape["rows"] * shape["columns"];
  const DeviceArray input = numbers<float>(device, num_elements, "input");
  const DeviceArray output = room_for<float>(device, num_elements, "output");
  TransposeParams params;
  params.input = input.as<float>();
  params.output = output.as<float>();
  params.rows = shape["rows"];
  params.columns = shape["columns"];
  params.threads_per_cta = static_cast<unsigned int>(shape["threads_per_cta"]);
  rung.launch(params);
  device->synchronize();
}

void launch_histogram(const DevicePtr& device,
                      const Shape& shape,
                      const Rung<HistogramParams>& rung) {
  const DeviceArray values = numbers<std::uint8_t>(device, shape["count"], "values");
  const DeviceArray counts =
      DeviceArray::copy_of(device, std::vector<unsigned int>(kHistogramBins), "counts");
  HistogramParams params;
  params.values = values.as<std::uint8_t>();
  params.count = shape["count"];
  params.counts = counts.as<unsigned int>();
  params.threads_per_cta = static_cast<unsigned int>(shape["threads_per_cta"]);
  rung.launch(params);
  device->synchronize();
}

// The numbers of `numbers` are exact in bfloat16 too.
template <typename Element>
DeviceArray matrix(const DevicePtr& device, std::int64_t count, const char* name) {
  if constexpr (std::is_same_v<Element, float>) return numbers<float>(device, count, name);
  std::vector<BFloat16> values(static_cast<std::size_t>(count));
  for (std::size_t idx = 0; idx < values.size(); ++idx) {
    values[idx] = store_as<BFloat16>(static_cast<double>(idx * 7 % 11));
  }
  return DeviceArray::copy_of(device, values, name);
}

template <typename Element>
void launch_matmul(const DevicePtr& device,
                   const Shape& shape,
                   const Rung<MatmulParams<Element>>& rung) {
  const DeviceArray a = matrix<Element>(device, shape["m"] * shape["k"], "a");
  const DeviceArray b = matrix<Element>(device, shape["k"] * shape["n"], "b");
  const DeviceArray c = room_for<float>(device, shape["m"] * shape["n"], "c");
  MatmulParams<Element> params;
  params.a = a.as<Element>();
  params.b = b.as<Element>();
  params.c = c.as<float>();
  params.m = shape["m"];
  params.n = shape["n"];
  params.k = shape["k"];
  params.tile = static_cast<unsigned int>(shape["tile"]);
  rung.launch(params);
  device->synchronize();
}

// Registers every rung of a ladder.
template <typename Params, std::size_t kNumRungs>
void add_ladder(std::vector<ProfiledKernel>& kernels,
                std::array<Rung<Params>, kNumRungs> KernelSet::*ladder,
                const std::vector<ShapeField>& fields,
                void (*launch_rung)(const DevicePtr&, const Shape&, const Rung<Params>&)) {
  const KernelSet simulated = on_simulator::kernel_set();
  for (std::size_t rung_idx = 0; rung_idx < kNumRungs; ++rung_idx) {
    const auto launch = [=](const DevicePtr& device, const Shape& shape) {
      const KernelSet set = kernels_of(*device);
      launch_rung(device, shape, (set.*ladder)[rung_idx]);
    };
    kernels.push_back({(simulated.*ladder)[rung_idx].name, Shape(fields), launch});
  }
}

// Registers a rung that is on its own because it takes other parameters.
template <typename Params>
void add_rung(std::vector<ProfiledKernel>& kernels,
              Rung<Params> KernelSet::*rung,
              const std::vector<ShapeField>& fields,
              void (*launch_rung)(const DevicePtr&, const Shape&, const Rung<Params>&)) {
  const auto launch = [=](const DevicePtr& device, const Shape& shape) {
    launch_rung(device, shape, kernels_of(*device).*rung);
  };
  kernels.push_back({(on_simulator::kernel_set().*rung).name, Shape(fields), launch});
}

}  // namespace

void add_ladders(std::vector<ProfiledKernel>& kernels) {
  // Counting takes about 0.1 µs an access, so shapes are limited to seconds.
  constexpr std::int64_t kMostValues = 1 << 22;
  constexpr std::int64_t kMostSide = 2048;
  const ShapeField threads = {"threads_per_cta", 128, 32, 1024, "threads of a thread block"};
  const auto count = [](std::int64_t by_default) {
    return ShapeField{"count", by_default, 1, kMostValues, "values"};
  };
  const auto side = [](const char* name, std::int64_t by_default, const char* description) {
    return ShapeField{name, by_default, 1, kMostSide, description};
  };
  add_rung(kernels, &KernelSet::merge_states,
           {side("num_tokens", 9, "rows of a head"), side("num_query_heads", 4, "query heads"),
            side("head_size_v", 64, "elements of an output")},
           launch_merge_states);
  add_ladder(kernels, &KernelSet::block_reduce, {count(10000), threads}, launch_block_reduce);
  add_ladder(kernels, &KernelSet::scan_float, {count(3000), threads}, launch_scan);
  add_ladder(kernels, &KernelSet::transpose,
             {side("rows", 100, "of the input"), side("columns", 72, "of the input"), threads},
             launch_transpose);
  add_ladder(kernels, &KernelSet::histogram, {count(20000), threads}, launch_histogram);
  const std::vector<ShapeField> matrices = {side("m", 48, "rows of A and C"),
                                            side("n", 80, "columns of B and C"),
                                            side("k", 40, "columns of A, rows of B")};
  const auto with_tile = [&](const ShapeField& tile) {
    std::vector<ShapeField> fields = matrices;
    fields.push_back(tile);
    return fields;
  };
  add_ladder(kernels, &KernelSet::matmul,
             with_tile({"tile", 16, 8, 32, "rows and columns of a tile of C: 8, 16 or 32"}),
             launch_matmul<float>);
  add_rung(kernels, &KernelSet::matmul_tensor_cores,
           with_tile({"tile", 32, 32, 32, "rows and columns of a tile of C: always 32"}),
           launch_matmul<BFloat16>);
}

}  // namespace pagelab::cli
