/// \file
/// A batch in arrays that stay where they are: what the launches of a recorded step read and write. Where DeviceBatch
/// is made anew for each step, and is gone with it, these are allocated once, as large as the largest step; each
/// step is written into them, and then the graph that was recorded with their addresses is replayed.
///
///     what a launch gets                                        how a graph's next step changes it
///     addresses of query, query_start_loc, block_table, ...     never: these arrays
///     what lies there                                           update(), before the replay
///     num_tokens, num_reqs, the longest query and sequence      never: LaunchShape, passed by value
///
/// A LaunchShape sizes grids and workspace. For a graph it must hold for every step that will be replayed: the padded
/// numbers of tokens and requests, and as the longest sequence not that of some step but the longest that there can be.
/// The thread blocks that a shorter step does not need find that out from seq_lens, and return.
/// \source vLLM v1/worker/gpu_model_runner.py, the persistent buffers of GPUModelRunner
#pragma once

#include <memory>
#include <string>

#include "gpu/backends/device_kv_cache.h"
#include "gpu/kernels/cache_write/params.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/attention_step.h"

namespace pagelab {

/// Everything about a step that a launch gets by value, and a recording therefore keeps.
struct LaunchShape {
  std::int64_t num_tokens = 0;     ///< rows of the query, padding included
  std::int64_t num_reqs = 0;       ///< rows of the block table, padding included
  std::int64_t max_query_len = 0;  ///< no query is longer
  std::int64_t max_seq_len = 0;    ///< no sequence is longer
};

/// The shape of one step, as it is: for launches that are not recorded.
LaunchShape launch_shape_of(const CommonAttentionMetadata& metadata);

/// "4 tokens, 4 requests, queries up to 1, sequences up to 64".
std::string to_string(const LaunchShape& shape);

/// The largest step, and what is the same in all.
struct PersistentBatchSizes {
  std::int64_t max_num_tokens = 0;       ///< padding included
  std::int64_t max_num_reqs = 0;         ///< padding included
  std::int64_t max_blocks_per_req = 0;   ///< columns of the block table, in every step
  std::int64_t num_query_heads = 0;      ///< of each layer
  DType query_dtype = DType::kBFloat16;  ///< of query, key and value
  KvCacheSpec cache;                     ///< of each layer
  float scale = 1.0f;                    ///< factor on the scores

  /// The longest sequence that a row of the block table has room for.
  std::int64_t max_seq_len() const { return max_blocks_per_req * cache.block_size; }
};

/// The arrays, for causal attention without options.
class PersistentBatch {
 public:
  /// \throws Error  if a size is below 1, or there is not enough device memory
  PersistentBatch(std::shared_ptr<Device> device, const PersistentBatchSizes& sizes);

  const PersistentBatchSizes& sizes() const { return sizes_; }  ///< as given

  /// Writes a step's metadata in place. What a graph will read, its padded rows included, must be in it: a step is
  /// padded first, and built then (simulator/engine/step/prepared_step.h).
  /// \throws Error  if it is not valid or does not fit; nothing is written then
  void update(const CommonAttentionMetadata& padded);

  /// Writes the first rows of query, key and value in place, where a model's kernels would leave them. Rows behind them
  /// keep what an earlier step left there.
  /// \param query   [T, num_query_heads, head_size]
  /// \param key     [T, num_kv_heads, head_size]
  /// \param value   [T, num_kv_heads, head_size_v]
  /// \throws Error  if they do not fit
  void update_inputs(const Tensor& query, const Tensor& key, const Tensor& value);

  void* query() const { return query_.data(); }  ///< where a model's kernels write
  void* key() const { return key_.data(); }      ///< likewise
  void* value() const { return value_.data(); }  ///< likewise

  /// What attention gets, but for its output and workspace.
  PagedAttentionParams attention(const LaunchShape& shape, const DeviceKvCache& cache) const;
  /// What the write of the new keys gets.
  CacheWriteParams key_write(const LaunchShape& shape, const DeviceKvCache& cache) const;
  /// What the write of the new values gets.
  CacheWriteParams value_write(const LaunchShape& shape, const DeviceKvCache& cache) const;

 private:
  CacheWriteParams write(const LaunchShape& shape, const DeviceKvCache& cache) const;

  PersistentBatchSizes sizes_;
  std::shared_ptr<Device> device_;
  DeviceArray query_;            // [max_num_tokens, num_query_heads, head_size]
  DeviceArray key_;              // [max_num_tokens, num_kv_heads, head_size]
  DeviceArray value_;            // [max_num_tokens, num_kv_heads, head_size_v]
  DeviceArray query_start_loc_;  // [max_num_reqs + 1]
  DeviceArray seq_lens_;         // [max_num_reqs]
  DeviceArray block_table_;      // [max_num_reqs, max_blocks_per_req]
  DeviceArray slot_mapping_;     // [max_num_tokens]
};

}  // namespace pagelab
