#include "gpu/backends/launched_attention.h"

#include <algorithm>
#include <utility>

namespace pagelab {
namespace {

class LaunchedByOneRung final : public LaunchedAttention {
 public:
  explicit LaunchedByOneRung(RungOfShape rung_of) : rung_of_(std::move(rung_of)) {}

  std::int64_t workspace_floats(const LaunchShape& shape,
                                const PagedAttentionParams& params) const override {
    return floats_of(rung_of_(shape, params), params);
  }
  void launch(const LaunchShape& shape, const PagedAttentionParams& params) const override {
    const AttentionRung rung = rung_of_(shape, params);
    rung.launchers.at(params.query_dtype, params.cache_dtype)(params);
  }

 private:
  RungOfShape rung_of_;
};

}  // namespace

std::unique_ptr<LaunchedAttention> launched_by_one_rung(RungOfShape rung_of) {
  return std::make_unique<LaunchedByOneRung>(std::move(rung_of));
}

std::int64_t most_workspace(const LaunchedAttention& attention,
                            const PersistentBatch& batch,
                            const DeviceKvCache& cache) {
  const PersistentBatchSizes& sizes = batch.sizes();
  const std::int64_t num_decodes = std::min(sizes.max_num_reqs, sizes.max_num_tokens);
  std::int64_t most = 0;
  for (const LaunchShape& shape : {LaunchShape{num_decodes, num_decodes, 1, sizes.max_seq_len()},
                                   LaunchShape{sizes.max_num_tokens, num_decodes,
                                               sizes.max_num_tokens, sizes.max_seq_len()}}) {
    if (!attention.takes(shape)) continue;
    most = std::max(most, attention.workspace_floats(shape, batch.attention(shape, cache)));
  }
  return most;
}

void launch_cache_writes(const KernelSet& kernels,
                         const PersistentBatch& batch,
                         const LaunchShape& shape,
                         const DeviceKvCache& cache) {
  const auto cache_write =
      kernels.cache_write_naive.at(batch.sizes().query_dtype, cache.spec().dtype);
  cache_write(batch.key_write(shape, cache));
  cache_write(batch.value_write(shape, cache));
}

void launch_attention(const LaunchedAttention& attention,
                      const PersistentBatch& batch,
                      const LaunchShape& shape,
                      const DeviceKvCache& cache,
                      const LayerArrays& arrays) {
  PagedAttentionParams params = batch.attention(shape, cache);
  params.output = arrays.output;
  params.lse = arrays.lse;
  params.workspace = arrays.workspace;
  params.workspace_floats = arrays.workspace_floats;
  attention.launch(shape, params);
}

}  // namespace pagelab
