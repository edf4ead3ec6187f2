/// \file
/// What the example records: two layers on the simulated GPU, for up to four requests with four blocks of 16 tokens each. Queries
/// are 0 and the value at position j is j, so a request of n tokens has the output (n − 1) / 2, the mean of what it sees.
#pragma once

#include <memory>
#include <vector>

#include "gpu/backends/layer_stack.h"
#include "gpu/runtime/graph.h"
#include "reference/cache/block_table.h"
#include "simulator/engine/step/step_builder.h"

namespace pagelab::lesson_10 {

inline constexpr std::int64_t kMaxReqs = 4;       ///< rows of the largest graph
inline constexpr std::int64_t kBlockSize = 16;    ///< tokens a block
inline constexpr std::int64_t kBlocksPerReq = 4;  ///< columns of the block table
inline constexpr std::int64_t kHeadSize = 32;     ///< elements of a head; there is one head

/// One of the two layers' caches.
inline std::shared_ptr<DeviceKvCache> counting_cache() {
  const KvCacheSpec spec = {
      1 + kMaxReqs * kBlocksPerReq, kBlockSize, 1, kHeadSize, kHeadSize, DType::kFloat32};
  Tensor values(DType::kFloat32, {spec.num_blocks, kBlockSize, 1, kHeadSize});
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::int64_t slot = i / kHeadSize - kBlockSize;  // behind the null block
    values.data<float>()[i] = static_cast<float>(slot % (kBlocksPerReq * kBlockSize));
  }
  KvCache cache(spec);
  cache.assign(Tensor(DType::kFloat32, values.shape()), values);
  return std::make_shared<DeviceKvCache>(simulator_device(), cache);
}

/// The two layers, with two stand-ins in each piece.
inline LayerStack two_layers() {
  const std::shared_ptr<DeviceKvCache> cache = counting_cache();
  const PersistentBatchSizes sizes = {.max_num_tokens = kMaxReqs,
                                      .max_num_reqs = kMaxReqs,
                                      .max_blocks_per_req = kBlocksPerReq,
                                      .num_query_heads = 1,
                                      .query_dtype = DType::kFloat32,
                                      .cache = cache->spec()};
  return LayerStack(simulator_device(), sizes, {cache, cache}, {.launches_between = 2});
}

/// Decodes of sequences of these lengths, padded to so many rows. Their own keys and values are in the cache already, so
/// none is stored.
inline CommonAttentionMetadata decodes_of(const std::vector<std::int64_t>& seq_lens,
                                          std::int64_t num_rows) {
  std::vector<StepRequest> requests;
  std::int32_t next_block = 1;
  for (const std::int64_t seq_len : seq_lens) {
    StepRequest request = {{.num_scheduled_tokens = 1, .num_computed_tokens = seq_len - 1}, {}};
    for (int block = 0; block < kBlocksPerReq; ++block) request.block_ids.push_back(next_block++);
    requests.push_back(request);
  }
  CommonAttentionMetadata step =
      build_step(requests, {.block_size = kBlockSize, .max_blocks_per_req = kBlocksPerReq},
                 PaddedShape{num_rows, num_rows})
          .metadata;
  step.slot_mapping.assign(step.slot_mapping.size(), kNoSlot);
  return step;
}

/// Writes the queries, keys and values of a step, which are all 0.
inline void write_inputs(LayerStack& layers) {
  const Tensor zeros(DType::kFloat32, {kMaxReqs, 1, kHeadSize});
  layers.batch().update_inputs(zeros, zeros, zeros);
}

}  // namespace pagelab::lesson_10
