/// \file
/// One layer's work in a step: what an engine does with a backend's impl, here with that of REFERENCE.
#pragma once

#include <cmath>
#include <memory>

#include "reference/registry/reference_backends.h"

namespace pagelab::lesson_09 {

/// What is left of a step.
struct LayerResult {
  Tensor output;  ///< [T, num_query_heads, head_size_v]
  Tensor memory;  ///< the cache's array, as it lies in memory
};

/// A tensor of sines.
inline Tensor sines(const Shape& shape, double step) {
  Tensor tensor(DType::kFloat64, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.data<double>()[i] = std::sin(step * i);
  return tensor;
}

/// Stores the new tokens of a batch and attends. Context and new tokens are the same in every layout.
/// \param spec   of the cache, float64
/// \param batch  N requests
inline LayerResult run_layer(const KvCacheSpec& spec, const CommonAttentionMetadata& batch) {
  const std::int64_t num_heads = spec.num_kv_heads;
  const std::int64_t num_tokens = batch.num_actual_tokens();
  KvCache cache(spec);
  cache.assign(sines({spec.num_blocks, spec.block_size, num_heads, spec.head_size}, 0.1),
               sines({spec.num_blocks, spec.block_size, num_heads, spec.head_size_v}, 0.2));
  const Tensor query = sines({num_tokens, num_heads, spec.head_size}, 0.3);
  const Tensor key = sines({num_tokens, num_heads, spec.head_size}, 0.4);
  const Tensor value = sines({num_tokens, num_heads, spec.head_size_v}, 0.5);

  // At startup: an impl a layer.
  const std::unique_ptr<AttentionBackend> backend = make_reference_backend();
  const std::unique_ptr<AttentionImpl> impl = backend->make_impl(cache);

  // In every step: write, then read.
  impl->do_kv_cache_update(key, value, batch.slot_mapping);
  Tensor output;
  Tensor lse;
  impl->forward(query, key, value, batch, AttentionVariant{}, output, lse);
  return {output, impl->kv_cache().arrays().front()};
}

}  // namespace pagelab::lesson_09
