/// \file
/// A batch of decodes on a device, for the kernels of gpu/kernels/paged_decode: arrays made of sines, blocks
/// in reverse order, one query token a request.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/runtime/device_array.h"

namespace pagelab::lesson_06 {

/// Sizes of the batch: a KV head that four query heads share, as in many models.
inline constexpr std::int64_t kNumQueryHeads = 4, kNumKvHeads = 1, kHeadSize = 64, kBlockSize = 16;

/// count numbers of [-1, 1].
/// \param first  a seed
inline std::vector<float> sines(std::int64_t count, std::int64_t first) {
  std::vector<float> numbers;
  for (std::int64_t i = first; i < first + count; ++i) {
    numbers.push_back(std::sin(0.7f * static_cast<float>(i % 1009)));
  }
  return numbers;
}

/// The arrays of one launch, in the memory of a device. Request r has the same query, keys and values in
/// every batch.
class DecodeBatch {
 public:
  /// \param device    where
  /// \param seq_lens  keys of each request
  DecodeBatch(const std::shared_ptr<Device>& device, const std::vector<std::int32_t>& seq_lens)
      : num_reqs_(static_cast<std::int64_t>(seq_lens.size())) {
    for (const std::int32_t seq_len : seq_lens)
      longest_ = std::max<std::int64_t>(longest_, seq_len);
    const std::int64_t blocks_per_req = (longest_ + kBlockSize - 1) / kBlockSize;
    const std::int64_t num_blocks = num_reqs_ * blocks_per_req;
    const std::int64_t elements_per_token = kNumKvHeads * kHeadSize;
    const std::int64_t elements_per_block = kBlockSize * elements_per_token;
    std::vector<std::int32_t> table, starts = {0};
    std::vector<float> keys(num_blocks * elements_per_block), values = keys, query;
    for (std::int64_t r = 0; r < num_reqs_; ++r) {
      starts.push_back(static_cast<std::int32_t>(r + 1));
      const std::vector<float> own_query = sines(kNumQueryHeads * kHeadSize, 31 * r);
      query.insert(query.end(), own_query.begin(), own_query.end());
      for (std::int64_t b = 0; b < blocks_per_req; ++b) {
        const std::int64_t physical_block =
            num_blocks - 1 - static_cast<std::int64_t>(table.size());
        table.push_back(static_cast<std::int32_t>(physical_block));
        const std::int64_t place = physical_block * elements_per_block;
        const std::vector<float> own_keys = sines(elements_per_block, 97 * r + 57 * b);
        const std::vector<float> own_values = sines(elements_per_block, 89 * r + 43 * b);
        std::copy(own_keys.begin(), own_keys.end(), keys.begin() + place);
        std::copy(own_values.begin(), own_values.end(), values.begin() + place);
      }
    }
    const std::int64_t num_rows = num_reqs_ * kNumQueryHeads;
    const KvStrides strides = {elements_per_block, elements_per_token, kHeadSize};
    params_.query = keep(DeviceArray::copy_of(device, query, "query"));
    params_.num_tokens = params_.num_reqs = num_reqs_;
    params_.num_query_heads = kNumQueryHeads;
    params_.num_kv_heads = kNumKvHeads;
    params_.head_size = params_.head_size_v = kHeadSize;
    params_.query_start_loc = keep(DeviceArray::copy_of(device, starts, "query_start_loc"));
    params_.seq_lens = keep(DeviceArray::copy_of(device, seq_lens, "seq_lens"));
    params_.block_table = keep(DeviceArray::copy_of(device, table, "block_table"));
    params_.max_blocks_per_req = blocks_per_req;
    params_.key_cache = keep(DeviceArray::copy_of(device, keys, "key_cache"));
    params_.value_cache = keep(DeviceArray::copy_of(device, values, "value_cache"));
    params_.key_strides = params_.value_strides = strides;
    params_.block_size = kBlockSize;
    const std::vector<float> ones(kNumKvHeads, 1.0f);
    params_.k_scales = params_.v_scales = keep(DeviceArray::copy_of(device, ones, "scales"));
    params_.scale = 0.125f;  // 1/√64
    params_.max_seq_len = longest_;
    params_.output = keep(floats(device, num_rows * kHeadSize, "output"));
    params_.lse = keep(floats(device, num_rows, "lse"));
    params_.workspace_floats = decode_workspace_floats(params_);
    params_.workspace = keep(floats(device, params_.workspace_floats, "workspace"));
  }

  const PagedAttentionParams& params() const { return params_; }  ///< for a launcher

  /// The output of the first request after a launch: [num_query_heads, head_size].
  std::vector<float> first_output() const {
    std::vector<float> outputs(num_reqs_ * kNumQueryHeads * kHeadSize);
    for (const DeviceArray& array : arrays_) {
      if (array.data() == params_.output) array.copy_to(outputs.data());
    }
    outputs.resize(kNumQueryHeads * kHeadSize);
    return outputs;
  }

 private:
  /// An address of any type.
  struct Address {
    void* data;
    template <typename T>
    operator T*() const {
      return static_cast<T*>(data);
    }
  };
  static DeviceArray floats(const std::shared_ptr<Device>& device,
                            std::int64_t count,
                            const char* name) {
    return DeviceArray(device, count * sizeof(float), name);
  }
  Address keep(DeviceArray array) {
    arrays_.push_back(std::move(array));
    return {arrays_.back().data()};
  }

  std::int64_t num_reqs_;
  std::int64_t longest_ = 0;
  std::vector<DeviceArray> arrays_;
  PagedAttentionParams params_;
};

}  // namespace pagelab::lesson_06
