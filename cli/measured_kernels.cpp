// The rungs of `pagelab measure attention`, on arrays that stay on the device.

#include <algorithm>

#include "cli/measurements.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "gpu/runtime/matrix_rate.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

// The numbers of the measurements, the same ones again after a million.
DeviceArray random_numbers(const DevicePtr& device,
                           std::int64_t count,
                           DType dtype,
                           const char* name) {
  constexpr std::int64_t kPeriod = std::int64_t{1} << 20;
  const Tensor numbers = measured_numbers({std::min(count, kPeriod)}, dtype);
  const std::size_t bytes = static_cast<std::size_t>(count * bytes_of(dtype));
  const std::size_t bytes_of_period = static_cast<std::size_t>(numbers.size_in_bytes());
  DeviceArray array(device, bytes, name);
  for (std::size_t first = 0; first < bytes; first += bytes_of_period) {
    device->copy_to_device(array.as<std::byte>() + first, numbers.bytes(),
                           std::min(bytes_of_period, bytes - first));
  }
  return array;
}

// Everything a launch reads and writes: causal, blocks in random order.
class Arrays {
 public:
  Arrays(const DevicePtr& device, const MeasuredShape& shape, const MeasuredLayer& layer)
      : device_(device) {
    const CommonAttentionMetadata batch = metadata_of(shape, layer);
    const std::vector<float> ones(static_cast<std::size_t>(layer.num_kv_heads), 1.0f);
    const std::int64_t num_rows = shape.num_tokens() * layer.num_query_heads;
    const std::int64_t cache_size =
        num_blocks_of(shape, layer) * layer.block_size * layer.num_kv_heads * layer.head_size;
    block_table_ = DeviceArray::copy_of(device, batch.block_table.entries, "block_table");
    query_start_loc_ = DeviceArray::copy_of(device, batch.query_start_loc, "query_start_loc");
    seq_lens_ = DeviceArray::copy_of(device, batch.seq_lens, "seq_lens");
    scales_ = DeviceArray::copy_of(device, ones, "scales");
    query_ = random_numbers(device, num_rows * layer.head_size, layer.dtype, "query");
    keys_ = random_numbers(device, cache_size, layer.dtype, "key_cache");
    values_ = random_numbers(device, cache_size, layer.dtype, "value_cache");
    output_ =
        DeviceArray(device, static_cast<std::size_t>(num_rows * layer.head_size) * 4, "output");
    lse_ = DeviceArray(device, static_cast<std::size_t>(num_rows) * 4, "lse");
    set_params(shape, layer, batch.block_table.max_blocks_per_req);
  }

  // Launches a rung once. Whatever it needs beside the arrays was made by prepare().
  void launch(const TableRung<PagedAttentionParams>& rung) const {
    rung.launchers.at(params_.query_dtype, params_.cache_dtype)(params_);
  }
  void prepare(const TableRung<PagedAttentionParams>& rung) {
    params_.workspace_floats =
        rung.workspace_floats != nullptr ? rung.workspace_floats(params_) : 0;
    workspace_ =
        DeviceArray(device_, static_cast<std::size_t>(params_.workspace_floats) * 4, "workspace");
    params_.workspace = workspace_.as<float>();
  }
  const PagedAttentionParams& params() const { return params_; }

 private:
  void set_params(const MeasuredShape& shape,
                  const MeasuredLayer& layer,
                  std::int64_t blocks_per_req) {
    params_.query = query_.data();
    params_.query_dtype = params_.cache_dtype = layer.dtype;
    params_.num_tokens = shape.num_tokens();
    params_.num_query_heads = layer.num_query_heads;
    params_.num_kv_heads = layer.num_kv_heads;
    params_.head_size = params_.head_size_v = layer.head_size;
    params_.num_reqs = shape.num_reqs;
    params_.query_start_loc = query_start_loc_.as<std::int32_t>();
    params_.seq_lens = seq_lens_.as<std::int32_t>();
    params_.block_table = block_table_.as<std::int32_t>();
    params_.max_blocks_per_req = blocks_per_req;
    params_.key_cache = keys_.data();
    params_.value_cache = values_.data();
    params_.key_strides.head = layer.head_size;
    params_.key_strides.token = layer.num_kv_heads * layer.head_size;
    params_.key_strides.block = layer.block_size * params_.key_strides.token;
    params_.value_strides = params_.key_strides;
    params_.block_size = layer.block_size;
    params_.k_scales = params_.v_scales = scales_.as<float>();
    params_.scale = 0.125f;
    params_.visibility.causal = true;
    params_.output = output_.as<float>();
    params_.lse = lse_.as<float>();
    params_.max_seq_len = shape.seq_len;
  }

  DevicePtr device_;
  DeviceArray block_table_, query_start_loc_, seq_lens_, scales_;
  DeviceArray query_, keys_, values_, output_, lse_, workspace_;
  PagedAttentionParams params_;
};

// Times until a tenth of a second is spent, five at least and a hundred at most.
double median_seconds(Device& device, const std::function<void()>& launch) {
  launch();  // the first launch loads the kernel
  device.synchronize();
  std::vector<double> seconds;
  double spent = 0.0;
  while (seconds.size() < 5 || (spent < 0.1 && seconds.size() < 100)) {
    seconds.push_back(device.seconds_of(launch));
    spent += seconds.back();
  }
  std::nth_element(seconds.begin(),
                   seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

simt::Counters counters_of(const std::function<void()>& launch) {
  const simt::ScopedCounting counting;
  launch();
  simt::Counters sum;
  for (const simt::LaunchCounters& counted : counting.launches()) sum += counted.totals;
  return sum;
}

void measure(Measurement& measurement,
             const DevicePtr& device,
             Arrays& arrays,
             const TableRung<PagedAttentionParams>& rung) {
  measurement.refusal = rung.refusal != nullptr ? rung.refusal(arrays.params()) : "";
  if (!measurement.refusal.empty()) return;
  try {
    arrays.prepare(rung);
    measure_launches(measurement, *device, [&] { arrays.launch(rung); });
  } catch (const Error& error) {
    measurement.refusal = error.what();
  }
}

}  // namespace

void measure_launches(Measurement& measurement,
                      Device& device,
                      const std::function<void()>& launch) {
  if (device.kind() == DeviceKind::kCuda) {
    measurement.seconds = median_seconds(device, launch);
  } else {
    measurement.counters = counters_of(launch);
  }
}

MeasuredLimits measure_limits() {
  constexpr std::size_t kBytes = std::size_t{4} << 30;  // far more than the L2 cache holds
  const DevicePtr device = cuda_device();
  const DeviceArray values(device, kBytes, "values");
  device->fill(values.data(), 0x3c, kBytes);
  const DeviceArray partial_sums(device, kMaxPartialSums * 4, "partial_sums");
  const DeviceArray total(device, 4, "total");
  BlockReduceParams params;
  params.values = values.as<float>();
  params.count = static_cast<std::int64_t>(kBytes / 4);
  params.partial_sums = partial_sums.as<float>();
  params.total = total.as<float>();
  params.threads_per_cta = 256;
  const Rung<BlockReduceParams> reads_only = kernels_of(*device).block_reduce[1];
  MeasuredLimits limits;
  limits.read_bytes_per_second =
      static_cast<double>(kBytes) / median_seconds(*device, [&] { reads_only.launch(params); });
  limits.operations_per_second = cublas_matrix_rate();
  return limits;
}

std::vector<Measurement> measure_kernels(const DevicePtr& device,
                                         const MeasuredShape& shape,
                                         const MeasuredLayer& layer) {
  const KernelSet kernels = kernels_of(*device);
  Arrays arrays(device, shape, layer);
  std::vector<Measurement> measurements;
  const auto add = [&](const TableRung<PagedAttentionParams>& rung) {
    Measurement measurement;
    measurement.name = rung.name;
    measurement.is_kernel = true;
    measurement.shape = shape.name;
    measurement.work = work_of(shape, layer, 4);
    measure(measurement, device, arrays, rung);
    measurements.push_back(measurement);
  };
  if (shape.is_decode())
    std::for_each(kernels.paged_decode.begin(), kernels.paged_decode.end(), add);
  std::for_each(kernels.paged_prefill.begin(), kernels.paged_prefill.end(), add);
  std::for_each(kernels.unified.begin(), kernels.unified.end(), add);
  return measurements;
}

}  // namespace pagelab::cli
