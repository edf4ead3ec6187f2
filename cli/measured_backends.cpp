// The backends of `pagelab measure attention`, as a model's layer calls them.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "cli/measurements.h"
#include "gpu/backends/catalog.h"
#include "gpu/backends/choose_backend.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

// A cache of the same random numbers over and over.
KvCache random_cache(const MeasuredShape& shape, const MeasuredLayer& layer) {
  KvCacheSpec spec;
  spec.block_size = layer.block_size;
  spec.num_blocks = shape.num_reqs * blocks_for_tokens(shape.seq_len, layer.block_size);
  spec.num_kv_heads = layer.num_kv_heads;
  spec.head_size = spec.head_size_v = layer.head_size;
  spec.dtype = layer.dtype;
  KvCache cache(spec);
  const Tensor period = measured_numbers({std::int64_t{1} << 20}, layer.dtype);
  for (Tensor& array : cache.arrays()) {
    std::byte* const bytes = static_cast<std::byte*>(array.bytes());
    for (std::int64_t first = 0; first < array.size_in_bytes(); first += period.size_in_bytes()) {
      const std::int64_t part = std::min(period.size_in_bytes(), array.size_in_bytes() - first);
      std::memcpy(bytes + first, period.bytes(), static_cast<std::size_t>(part));
    }
  }
  return cache;
}

// Once to warm up, then three times.
double median_seconds(const std::function<void()>& call) {
  call();
  std::vector<double> seconds;
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    call();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

// What the layer of a shape asks of vLLM's registry.
SelectionQuestion question_of(const MeasuredLayer& layer, DeviceCapability capability) {
  SelectionQuestion question;
  question.capability = capability;
  question.config.head_size = layer.head_size;
  question.config.dtype = to_string(layer.dtype);
  question.config.kv_cache_dtype = "auto";
  question.config.block_size = layer.block_size;
  ModelConfig& model = question.model.emplace();
  model.head_size = layer.head_size;
  model.num_heads = layer.num_query_heads;
  model.num_kv_heads = layer.num_kv_heads;
  return question;
}

// A row for each backend of a target; its refusal is filled in where vLLM's rules count and decline.
std::vector<std::pair<BackendChoice, Measurement>> rows_of(
    const std::string& target,
    const MeasuredShape& shape,
    const MeasuredLayer& layer,
    std::optional<DeviceCapability> as_vllm) {
  std::vector<std::pair<BackendChoice, Measurement>> rows;
  for (const BackendChoice& choice : all_backends()) {
    const auto& targets = choice.targets;
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) continue;
    Measurement measurement;
    measurement.name = choice.name;
    measurement.shape = shape.name;
    measurement.work = work_of(shape, layer, bytes_of(layer.dtype));
    if (as_vllm && is_known_to_vllm(choice.name)) {
      measurement.refusal = refusal_as_vllm(choice.name, question_of(layer, *as_vllm));
    }
    rows.emplace_back(choice, measurement);
  }
  return rows;
}

}  // namespace

std::vector<Measurement> declined_backends(const std::string& target,
                                           const MeasuredShape& shape,
                                           const MeasuredLayer& layer,
                                           std::optional<DeviceCapability> as_vllm) {
  std::vector<Measurement> declined;
  for (const auto& [choice, measurement] : rows_of(target, shape, layer, as_vllm)) {
    if (!measurement.refusal.empty()) declined.push_back(measurement);
  }
  return declined;
}

std::vector<Measurement> measure_backends(const std::string& target,
                                          const MeasuredShape& shape,
                                          const MeasuredLayer& layer,
                                          std::optional<DeviceCapability> as_vllm) {
  const KvCache cache = random_cache(shape, layer);
  const CommonAttentionMetadata metadata = metadata_of(shape, layer);
  AttentionVariant variant;
  variant.scale = 1.0 / std::sqrt(static_cast<double>(layer.head_size));
  const Tensor query =
      measured_numbers({shape.num_tokens(), layer.num_query_heads, layer.head_size}, layer.dtype);
  const Tensor key =
      measured_numbers({shape.num_tokens(), layer.num_kv_heads, layer.head_size}, layer.dtype);

  std::vector<Measurement> measurements;
  for (auto& [choice, measurement] : rows_of(target, shape, layer, as_vllm)) {
    if (!measurement.refusal.empty()) {
      measurements.push_back(measurement);
      continue;
    }
    try {
      const auto impl = choice.make(target)->make_impl(cache);
      Tensor output;
      Tensor lse;
      measurement.seconds =
          median_seconds([&] { impl->forward(query, key, key, metadata, variant, output, lse); });
      measurement.work = work_of(shape, layer, bytes_of(output.dtype()));
    } catch (const Error& error) {
      measurement.refusal = error.what();
    }
    measurements.push_back(measurement);
  }
  return measurements;
}

}  // namespace pagelab::cli
