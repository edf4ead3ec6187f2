#include "tests/gpu/ladders/ladders.h"

#include <algorithm>

#include "gpu/runtime/device_array.h"

namespace pagelab::test {
namespace {

// Room for a result. On a GPU every byte is 0xff, so that what a kernel forgets to write is a NaN;
// the simulators poison memory themselves. One element where none is written: an empty array has no
// address.
template <typename T>
DeviceArray unwritten(const std::shared_ptr<Device>& device, std::int64_t count, const char* name) {
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(T);
  DeviceArray array(device, bytes, name);
  if (device->kind() == DeviceKind::kCuda) device->fill(array.data(), 0xff, bytes);
  return array;
}

template <typename T>
std::vector<T> fetch(const DeviceArray& array, std::int64_t count) {
  std::vector<T> values(array.bytes() / sizeof(T));
  if (count > 0) array.copy_to(values.data());
  values.resize(static_cast<std::size_t>(count));
  return values;
}

}  // namespace

float sum_on(const std::shared_ptr<Device>& device,
             const Rung<BlockReduceParams>& rung,
             const std::vector<float>& values,
             unsigned int threads_per_cta) {
  const DeviceArray device_values = DeviceArray::copy_of(device, values, "values");
  const DeviceArray partial_sums = unwritten<float>(device, kMaxPartialSums, "partial_sums");
  const DeviceArray total = unwritten<float>(device, 1, "total");
  BlockReduceParams params;
  params.values = device_values.as<float>();
  params.count = static_cast<std::int64_t>(values.size());
  params.partial_sums = partial_sums.as<float>();
  params.total = total.as<float>();
  params.threads_per_cta = threads_per_cta;
  rung.launch(params);
  return fetch<float>(total, 1).front();
}

template <typename Element>
std::vector<Element> scan_on(const std::shared_ptr<Device>& device,
                             const Rung<ScanParams<Element>>& rung,
                             const std::vector<Element>& values,
                             unsigned int threads_per_cta) {
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  const DeviceArray device_values = DeviceArray::copy_of(device, values, "values");
  const DeviceArray sums = unwritten<Element>(device, count, "sums");
  const std::int64_t num_totals = num_scan_totals(count, threads_per_cta);
  const DeviceArray cta_totals = unwritten<Element>(device, num_totals, "cta_totals");
  ScanParams<Element> params;
  params.values = device_values.template as<Element>();
  params.sums = sums.template as<Element>();
  params.count = count;
  params.cta_totals = cta_totals.template as<Element>();
  params.threads_per_cta = threads_per_cta;
  rung.launch(params);
  return fetch<Element>(sums, count);
}

template std::vector<std::int32_t> scan_on(const std::shared_ptr<Device>&,
                                           const Rung<ScanParams<std::int32_t>>&,
                                           const std::vector<std::int32_t>&,
                                           unsigned int);
template std::vector<float> scan_on(const std::shared_ptr<Device>&,
                                    const Rung<ScanParams<float>>&,
                                    const std::vector<float>&,
                                    unsigned int);

Matrix<float> transpose_on(const std::shared_ptr<Device>& device,
                           const Rung<TransposeParams>& rung,
                           const Matrix<float>& input,
                           unsigned int threads_per_cta) {
  const std::int64_t count = input.rows * input.columns;
  const DeviceArray device_input = DeviceArray::copy_of(device, input.elements, "input");
  const DeviceArray output = unwritten<float>(device, count, "output");
  TransposeParams params;
  params.input = device_input.as<float>();
  params.output = output.as<float>();
  params.rows = input.rows;
  params.columns = input.columns;
  params.threads_per_cta = threads_per_cta;
  rung.launch(params);
  return {input.columns, input.rows, fetch<float>(output, count)};
}

std::vector<unsigned int> histogram_on(const std::shared_ptr<Device>& device,
                                       const Rung<HistogramParams>& rung,
                                       const std::vector<std::uint8_t>& values,
                                       unsigned int threads_per_cta,
                                       const std::vector<unsigned int>& counts_before) {
  const DeviceArray device_values = DeviceArray::copy_of(device, values, "values");
  const DeviceArray counts = DeviceArray::copy_of(device, counts_before, "counts");
  HistogramParams params;
  params.values = device_values.as<std::uint8_t>();
  params.count = static_cast<std::int64_t>(values.size());
  params.counts = counts.as<unsigned int>();
  params.threads_per_cta = threads_per_cta;
  rung.launch(params);
  return fetch<unsigned int>(counts, kHistogramBins);
}

template <typename Element>
Matrix<float> multiply_on(const std::shared_ptr<Device>& device,
                          const Rung<MatmulParams<Element>>& rung,
                          const Matrix<Element>& a,
                          const Matrix<Element>& b,
                          unsigned int tile) {
  const std::int64_t count = a.rows * b.columns;
  const DeviceArray device_a = DeviceArray::copy_of(device, a.elements, "a");
  const DeviceArray device_b = DeviceArray::copy_of(device, b.elements, "b");
  const DeviceArray c = unwritten<float>(device, count, "c");
  MatmulParams<Element> params;
  params.a = device_a.template as<Element>();
  params.b = device_b.template as<Element>();
  params.c = c.as<float>();
  params.m = a.rows;
  params.n = b.columns;
  params.k = a.columns;
  params.tile = tile;
  rung.launch(params);
  return {a.rows, b.columns, fetch<float>(c, count)};
}

template Matrix<float> multiply_on(const std::shared_ptr<Device>&,
                                   const Rung<MatmulParams<float>>&,
                                   const Matrix<float>&,
                                   const Matrix<float>&,
                                   unsigned int);
template Matrix<float> multiply_on(const std::shared_ptr<Device>&,
                                   const Rung<MatmulParams<BFloat16>>&,
                                   const Matrix<BFloat16>&,
                                   const Matrix<BFloat16>&,
                                   unsigned int);

}  // namespace pagelab::test
