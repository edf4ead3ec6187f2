// The kernel of task 4: the mean of each request's values, which is attention with queries of zero. It is right as it is;
// what it gets by value is what a recording keeps.
//
// Mapping  a thread a request
// Expects  max_seq_len no smaller than any of seq_lens: it stands for the room of a real kernel, and what is longer is
//          cut off.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/10_cuda_graphs/answer.h"

namespace pagelab::lesson_10 {

/// All that the kernel gets, by value.
struct MeansParams {
  const std::int32_t* seq_lens;     ///< [num_reqs]
  const std::int32_t* block_table;  ///< [num_reqs, max_blocks_per_req]
  const float* values;              ///< [num_blocks, block_size]
  float* means;                     ///< [num_reqs]
  int num_reqs;                     ///< rows
  int max_blocks_per_req;           ///< columns of the table
  int block_size;                   ///< tokens a block
  int max_seq_len;                  ///< keys that there is room for
};

inline namespace PAGELAB_TARGET {

__global__ void means_of_values(MeansParams params) {
  const int req_idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (req_idx >= params.num_reqs) return;
  int seq_len = params.seq_lens[req_idx];
  if (seq_len > params.max_seq_len) seq_len = params.max_seq_len;
  const std::int32_t* block_table_row = params.block_table + req_idx * params.max_blocks_per_req;
  float sum = 0.0f;
  for (int position = 0; position < seq_len; ++position) {
    const std::int32_t physical_block = block_table_row[position / params.block_size];
    const float value =
        params.values[physical_block * params.block_size + position % params.block_size];
    sum = sum + value;
  }
  params.means[req_idx] = seq_len == 0 ? 0.0f : sum / static_cast<float>(seq_len);
}

// Launches it, or records that, as any launch does.
inline void launch_means(const MeansParams& params) {
  launch("means_of_values", ctas_for(params.num_reqs, 32), 32, means_of_values, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
