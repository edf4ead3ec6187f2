// The backends of `pagelab measure attention`, as a model's layer calls them.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "cli/measurements.h"
#include "gpu/backends/catalog.h"
#include "gpu/backends/choose_backend.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

constexpr const char* kNoCascadeInVllm =
    "vLLM 0.32.0 has no cascade attention; 0.31.0 was the last release that had it";

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

// Times what a layer calls, or says why that could not be.
void time_forward(Measurement& row,
                  const MeasuredShape& shape,
                  const MeasuredLayer& layer,
                  const std::function<void(Tensor& output, Tensor& lse)>& forward) {
  try {
    Tensor output;
    Tensor lse;
    row.seconds = median_seconds([&] { forward(output, lse); });
    row.work = work_of(shape, layer, bytes_of(output.dtype()));
  } catch (const Error& error) {
    row.refusal = error.what();
  }
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
  const KvCache cache = measured_cache(num_blocks_of(shape, layer), layer);
  const CommonAttentionMetadata metadata = metadata_of(shape, layer);
  AttentionVariant variant;
  variant.scale = 1.0 / std::sqrt(static_cast<double>(layer.head_size));
  const Tensor query =
      measured_numbers({shape.num_tokens(), layer.num_query_heads, layer.head_size}, layer.dtype);
  const Tensor key =
      measured_numbers({shape.num_tokens(), layer.num_kv_heads, layer.head_size}, layer.dtype);

  std::vector<Measurement> measurements;
  for (auto& [choice, flat] : rows_of(target, shape, layer, as_vllm)) {
    std::unique_ptr<AttentionBackend> backend;
    std::unique_ptr<AttentionImpl> impl;
    if (flat.refusal.empty()) {
      try {
        backend = choice.make(target);
        impl = backend->make_impl(cache);
      } catch (const Error& error) {
        flat.refusal = error.what();
      }
    }
    measurements.push_back(flat);
    if (impl == nullptr) continue;
    const Measurement untimed = flat;
    time_forward(measurements.back(), shape, layer, [&](Tensor& output, Tensor& lse) {
      impl->forward(query, key, key, metadata, variant, output, lse);
    });
    if (!shape.has_prefix() || !backend->has_cascade()) continue;
    measurements.push_back(untimed);
    measurements.back().name += " in a cascade";
    if (as_vllm && is_known_to_vllm(choice.name)) {
      measurements.back().refusal = kNoCascadeInVllm;
      continue;
    }
    time_forward(measurements.back(), shape, layer, [&](Tensor& output, Tensor& lse) {
      impl->forward_cascade(query, key, key, metadata, variant, shape.prefix_len / layer.block_size,
                            output, lse);
    });
  }
  return measurements;
}

}  // namespace pagelab::cli
