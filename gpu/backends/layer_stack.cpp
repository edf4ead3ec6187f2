#include "gpu/backends/layer_stack.h"

#include <utility>

#include "gpu/backends/kernels_of.h"
#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

void require_caches(const std::vector<std::shared_ptr<DeviceKvCache>>& caches,
                    const KvCacheSpec& spec) {
  if (caches.empty()) refuse("a stack has 0 layers; it must have at least 1.");
  for (const auto& cache : caches) {
    const KvCacheSpec& own = cache->spec();
    const bool is_alike = own.num_blocks == spec.num_blocks && own.block_size == spec.block_size &&
                          own.num_kv_heads == spec.num_kv_heads &&
                          own.head_size == spec.head_size && own.head_size_v == spec.head_size_v &&
                          own.dtype == spec.dtype;
    if (!is_alike) refuse("a layer's cache has other sizes or elements than the batch expects.");
  }
}

}  // namespace

LayerStack::LayerStack(std::shared_ptr<Device> device,
                       const PersistentBatchSizes& sizes,
                       std::vector<std::shared_ptr<DeviceKvCache>> caches,
                       const LayerStackOptions& options)
    : device_(std::move(device)),
      kernels_(kernels_of(*device_)),
      options_(options),
      attention_(launched_flash_attn(kernels_, options.flash_attn)),
      batch_(device_, sizes),
      caches_(std::move(caches)) {
  require_caches(caches_, sizes.cache);
  const std::int64_t num_rows = sizes.max_num_tokens * sizes.num_query_heads;
  for (std::size_t layer = 0; layer < caches_.size(); ++layer) {
    outputs_.emplace_back(device_, floats(num_rows * sizes.cache.head_size_v), "output");
    lses_.emplace_back(device_, floats(num_rows), "lse");
  }
  if (options_.launches_between > 0) {
    for (DeviceArray& activations : activations_) {
      activations = DeviceArray(device_, floats(num_rows * sizes.cache.head_size), "activations");
      fill(activations, 0);
    }
  }
  workspace_ =
      DeviceArray(device_, floats(most_workspace(*attention_, batch_, *caches_[0])), "workspace");
}

StepParts LayerStack::parts() {
  StepParts parts;
  for (std::size_t layer = 0; layer < caches_.size(); ++layer) {
    if (options_.launches_between > 0) parts.push_back({false, [this] { launch_piece(); }});
    parts.push_back({true, [this, layer] { launch_attention(layer); }});
  }
  return parts;
}

LaunchShape LayerStack::shape_of_graph(std::int64_t num_tokens,
                                       std::int64_t num_reqs,
                                       std::int64_t max_query_len) const {
  return {num_tokens, num_reqs, max_query_len, batch_.sizes().max_seq_len()};
}

void LayerStack::launch_piece() const {
  const PersistentBatchSizes& sizes = batch_.sizes();
  TransposeParams params;
  params.rows = shape_.num_tokens;
  params.columns = sizes.num_query_heads * sizes.cache.head_size;
  for (std::int64_t i = 0; i < options_.launches_between; ++i) {
    params.input = activations_[i % 2].as<float>();
    params.output = activations_[(i + 1) % 2].as<float>();
    kernels_.transpose[1].launch(params);
    std::swap(params.rows, params.columns);
  }
}

void LayerStack::launch_attention(std::size_t layer) const {
  const DeviceKvCache& cache = *caches_[layer];
  launch_cache_writes(kernels_, batch_, shape_, cache);
  pagelab::launch_attention(
      *attention_, batch_, shape_, cache,
      {.output = outputs_[layer].as<float>(),
       .lse = lses_[layer].as<float>(),
       .workspace = workspace_.as<float>(),
       .workspace_floats = static_cast<std::int64_t>(workspace_.bytes() / sizeof(float))});
}

Tensor LayerStack::output(std::size_t layer, std::int64_t num_tokens) const {
  const PersistentBatchSizes& sizes = batch_.sizes();
  return copy_of(outputs_.at(layer), {num_tokens, sizes.num_query_heads, sizes.cache.head_size_v});
}

Tensor LayerStack::lse(std::size_t layer, std::int64_t num_tokens) const {
  return copy_of(lses_.at(layer), {batch_.sizes().num_query_heads, num_tokens});
}

void LayerStack::fill_outputs(unsigned char value) {
  for (const DeviceArray& output : outputs_) fill(output, value);
  for (const DeviceArray& lse : lses_) fill(lse, value);
}

Tensor LayerStack::copy_of(const DeviceArray& array, const Shape& shape) const {
  Tensor tensor(DType::kFloat32, shape);
  const auto bytes = static_cast<std::size_t>(tensor.size_in_bytes());
  if (bytes > array.bytes()) {
    refuse("{} bytes of a result are asked for, but there are {}.", bytes, array.bytes());
  }
  if (bytes > 0) device_->copy_to_host(tensor.bytes(), array.data(), bytes);
  return tensor;
}

void LayerStack::fill(const DeviceArray& array, unsigned char value) const {
  if (array.bytes() > 0) device_->fill(array.data(), value, array.bytes());
}

}  // namespace pagelab
