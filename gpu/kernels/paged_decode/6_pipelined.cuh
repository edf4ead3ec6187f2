// paged_decode, rung 6: copies of 16 bytes that run ahead, and warps that need not wait for each other.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → a pack of query heads, a partition and a row, as in rung 5. Its four warps
//          take tiles of eight keys in turn. Of a tile, eight lanes take a key, each with every eighth
//          16 bytes of it, and copy what they will use themselves:
//
//            tile of the partition   0  1  2  3 │ 4  5 …      lanes 0 … 7     keys 0 and 4 of a tile
//            warp                    0  1  2  3 │ 0  1 …      lanes 8 … 15    keys 1 and 5
//                                                             lanes 16 … 23   keys 2 and 6
//            a key's 16 bytes        0 1 … 7 │ 8 9 … 15       lanes 24 … 31   keys 3 and 7
//            lane of its eight       0 1 … 7 │ 0 1 …  7
//
//          A lane keeps its elements of the pack's queries and of their outputs in registers, 64 of each:
//          8 heads of up to 64 elements, 4 of up to 128, or 2 of up to 256.
// Cost     each key and value of a KV head once a row and pack, with 16-byte copies of which a warp has
//          two tiles under way: at head size 128 in bfloat16 8 KiB a warp and, with three thread blocks,
//          96 KiB a multiprocessor, where about 32 KiB cover the latency of memory at full bandwidth.
//          Shared memory is read once for each byte copied, without bank conflicts, and feeds four fma
//          for each element. Memory bandwidth limits it.
// Change   rung 5's warps loaded two or four bytes a lane, waited for them, for their neighbours at every
//          barrier, and for the block table before each key. Here a lane waits only for its own copies,
//          begun two tiles before; where each key of the partition lies is found out once and kept in shared memory;
//          eight lanes add up eight scores by 7 shuffles (each time a lane keeps one half of its sums and gives the
//          other away) where 5 among 32 made one; each of a tile's exponentials is computed by one lane, which has the
//          score already; and no thread block is in step, because every warp has its own online softmax, merged once
//          at the partition's end.
//          What such a kernel waits for is the issue of instructions: 256 fma and 64 conversions a tile cannot be
//          spared, everything else is counted. A version that asked for each key's place in every copy, gave each
//          score 3 shuffles, passed it through shared memory and computed the merge's weights once an element
//          had 490 million instructions where this one has 341, and took 0.80 ms
//          (docs/measurements/2026-11-30-h200-rungs-6-and-3.txt). 64 × 8192 keys: 0.56 ms instead of 6.8 on an H200
//          (docs/measurements/2026-11-30-h200-ladders.txt; shapes: 3_cta.cuh), 86 % of the rate at which a kernel there
//          only reads.
// Order    a score's product: a lane's chain of fma over its elements in increasing order, then lanes 4, 2
//          and 1 apart; for fp8 the product is of codes, and times k_scale. A tile joins its warp's state:
//          with the new maximum, l and acc are multiplied by exp(old − new), then p is added to the part
//          of l of one of the lanes, and by fma to acc, keys 0 to 3 before 4 to 7. At the end the lanes' parts
//          are added (acc: lanes 8, then 16 apart; l: of keys 4 apart, then 2, then 1), warps
//          merged by weights in increasing order, and for fp8 acc is multiplied by v_scale. Partitions as in
//          rung 4. A term passes 3 roundings
//          more for each tile of its warp, one in 32 keys, and 3 for each of the two merges. Neither block size
//          nor block table nor other rows change a bit.
// Expects  a valid step: block ids within the cache for every position below seq_len. max_seq_len no
//          smaller than any of seq_lens: a longer row would be NaN. decode_workspace_floats() of workspace.
//          What has no 16 bytes is refused: head sizes that are no multiple of them, float64 caches.
// Words    cp_async: gpu/device/cp_async.h. unpack: gpu/device/unpack.h.
#pragma once

#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/device/unpack.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/head_pack.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/pipeline.h"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Stored, int kDims>
__global__ void __launch_bounds__(kDecodeThreads, DecodeShared<Stored, kDims>::kCtasPerSm)
    paged_decode_pipelined(PagedAttentionParams params) {
  using Pipeline = DecodePipeline<Stored, kDims>;
  constexpr int kHeads = Pipeline::kHeads;
  const DecodeShared<Stored, kDims> shared(dynamic_shared_memory<unsigned char>());

  // Which heads, partition and row this thread block owns, and which keys of it the row sees.
  const PartitionStates states = partition_states(params);
  const std::int64_t cta_idx = blockIdx.x;
  const std::int64_t packs_per_row = num_packs(params, kHeads);
  const HeadPack pack = head_pack(params, kHeads, cta_idx % packs_per_row);
  const std::int64_t partition = cta_idx / packs_per_row % states.partitions_per_row;
  const std::int64_t token_idx = cta_idx / packs_per_row / states.partitions_per_row;
  const int thread_idx = static_cast<int>(threadIdx.x);
  const int warp_idx = static_cast<int>(threadIdx.x / 32);
  const int lane_idx = static_cast<int>(threadIdx.x % 32);
  QueryRow row = decode_row_of(params, token_idx, pack.first_head_idx);
  if (row.is_padding) return;
  const std::int64_t first_position = partition * kPartitionLen;
  const KeyRange visible = visible_part(params, row, first_position);
  if (visible.begin >= visible.end) return;  // the reduce knows, too
  const KeyRange keys = {visible.begin - first_position, visible.end - first_position};

  // Step 1: locate the block
  // For all keys of the partition, before anybody needs one; and the queries, as floats, zero beyond the head.
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  for (int key = thread_idx; key < kPartitionLen; key += kDecodeThreads) {
    TokenPlace place = {kNoToken, kNoToken};
    // Only prefix ranges leave a gap between the first and the last key that are seen.
    const bool is_seen =
        key >= keys.begin && key < keys.end &&
        (params.num_mm_prefix_ranges == 0 || sees(params, row, first_position + key));
    if (is_seen) {
      const CachePlace slot = place_of(block_table_row, params.block_size, first_position + key);
      place = {slot.offset(params.key_strides) + row.kv_head_idx * params.key_strides.head,
               slot.offset(params.value_strides) + row.kv_head_idx * params.value_strides.head};
    }
    shared.places[key] = place;
  }
  for (int index = thread_idx; index < kHeads * Pipeline::kRowSize; index += kDecodeThreads) {
    const int h = index / Pipeline::kRowSize;
    const int i = index % Pipeline::kRowSize;
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    const bool is_inside = i < params.head_size;
    shared.queries[index] =
        is_inside ? query_element(params, row_idx * params.head_size + i) : 0.0f;
  }
  __syncthreads();
  Pipeline pipeline(params, keys, shared.places, shared.stages, warp_idx, lane_idx);
  pipeline.begin();
  float query[kHeads][kDims];  // this lane's elements
  pipeline.read_own_elements(shared.queries, query);

  // The state of this warp: of this lane's head m, in all of its lanes, and a part of l; and this lane's elements
  // of every head's acc.
  float m = float_from_bits(0xff800000u);
  float l = 0.0f;
  float acc[kHeads][kDims] = {};
  float* weights = shared.weights + warp_idx * Pipeline::kScoresPerTile;  // [key of the tile][head]
  row.head_idx = pack.head_idx(pipeline.own_head());
  const float k_scale = kIsFp8<Stored> ? params.k_scales[row.kv_head_idx] : 1.0f;

  while (pipeline.has_tile()) {
    pipeline.wait_for_tile();

    // Step 2: scores
    float score[Pipeline::kScoresPerLane];
    pipeline.multiply_keys(query, score);

    // Step 3: softmax update
    bool is_seen[Pipeline::kScoresPerLane];
    float tile_m = float_from_bits(0xff800000u);
    PAGELAB_UNROLL
    for (int n = 0; n < Pipeline::kScoresPerLane; ++n) {
      const int key = pipeline.first_key_of_tile() + pipeline.own_key(n);
      is_seen[n] = shared.places[key].key != kNoToken;
      if (!is_seen[n]) continue;
      score[n] = scaled_score(params, row, score[n] * k_scale, first_position + key);
      tile_m = larger(score[n], tile_m);
    }
    const float m_before = m;
    m = larger(pipeline.larger_of_head(tile_m), m);
    const float base = base_of(m);
    // Most tiles bring no new maximum: then all would be multiplied by 1.
    const bool has_new_maximum = __any_sync(kWholeWarp, m != m_before);
    float rescale = 1.0f;
    if (has_new_maximum) {
      rescale = softmax_weight(m_before, base);
      l = l * rescale;
    }
    PAGELAB_UNROLL
    for (int n = 0; n < Pipeline::kScoresPerLane; ++n) {
      const float p = is_seen[n] ? softmax_weight(score[n], base) : 0.0f;
      if (!pipeline.is_first_with_own()) continue;
      l = l + p;
      weights[pipeline.own_key(n) * kHeads + pipeline.own_head()] = p;
    }
    __syncwarp();

    // Step 4: weighted values
    if (has_new_maximum) {
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        const float rescale_of_head = __shfl_sync(kWholeWarp, rescale, pipeline.first_lane_of(h));
        PAGELAB_UNROLL
        for (int i = 0; i < kDims; ++i) acc[h][i] = acc[h][i] * rescale_of_head;
      }
    }
    PAGELAB_UNROLL
    for (int round = 0; round < Pipeline::kRounds; ++round) {
      const int key_idx = round * Pipeline::kKeysPerRound + lane_idx / Pipeline::kLanesPerKey;
      float p[kHeads];
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) p[h] = weights[key_idx * kHeads + h];
      pipeline.add_value(round, p, acc);
    }
    __syncwarp();  // before the next tile's weights overwrite them
    pipeline.next_tile();
  }
  pipeline.drain();

  // Step 5: nothing here, reduce_partitions.cuh normalises
  // The four warps merge what they have; the stages of the pipeline have room for it.
  l = pipeline.sum_of_head(l);
  __syncthreads();
  const MergedWarps<kHeads, Pipeline::kRowSize> warps(shared.stages);
  if (lane_idx == pipeline.first_lane_of(pipeline.own_head())) {
    warps.set_state(warp_idx, pipeline.own_head(), m, l);
  }
  pipeline.write_sums_of_keys(acc, warps.outputs(warp_idx));
  __syncthreads();
  if (thread_idx < kHeads) warps.weigh(thread_idx);
  __syncthreads();
  const float v_scale = kIsFp8<Stored> ? params.v_scales[row.kv_head_idx] : 1.0f;
  constexpr int kOutputs = 4;  // of a thread, neighbours
  for (int i = thread_idx; i < kHeads * Pipeline::kRowSize / kOutputs; i += kDecodeThreads) {
    const int h = i * kOutputs / Pipeline::kRowSize;
    const int d = i * kOutputs % Pipeline::kRowSize;
    if (h >= pack.num_heads || d >= params.head_size_v) continue;
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    float* const outputs = states.output(row_idx, partition) + d;
    PAGELAB_UNROLL
    for (int k = 0; k < kOutputs; ++k) outputs[k] = warps.output(h, d + k) * v_scale;
    if (d > 0) continue;
    states.maxima[states.index(row_idx, partition)] = warps.maximum(h);
    states.sums[states.index(row_idx, partition)] = warps.sum(h);
  }
}

// Launches the kernel for heads of up to 8 · kDims elements.
template <typename Query, typename Stored, int kDims>
void launch_paged_decode_pipelined_of(const char* name, const PagedAttentionParams& params) {
  constexpr int kHeads = DecodePipeline<Stored, kDims>::kHeads;
  const std::int64_t shared_bytes = DecodeShared<Stored, kDims>::kBytes;
  require_shared_bytes(name, params, shared_bytes, "Rung 5 takes less.");
  const std::int64_t num_ctas =
      params.num_tokens * num_packs(params, kHeads) * num_partitions(params.max_seq_len);
  if (num_ctas == 0) return;
  launch(name, ctas_for(num_ctas, 1), kDecodeThreads, paged_decode_pipelined<Stored, kDims>,
         with_dtypes<Query, Stored>(params), static_cast<std::size_t>(shared_bytes));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_pipelined(const PagedAttentionParams& params) {
  const char* const name = "paged_decode/6_pipelined";
  require_taken(name, refusal_of_chunks(with_dtypes<Query, Stored>(params)));
  require_max_seq_len(name, params);
  if (params.num_tokens * params.num_query_heads == 0) return;
  require_workspace(name, params);
  if constexpr (!kIsSame<Stored, double>) {
    const std::int64_t size =
        params.head_size > params.head_size_v ? params.head_size : params.head_size_v;
    if (size > 128) {
      launch_paged_decode_pipelined_of<Query, Stored, 32>(name, params);
    } else if (size > 64 || kIsFp8<Stored>) {  // 16 bytes of fp8 are 16 elements
      launch_paged_decode_pipelined_of<Query, Stored, 16>(name, params);
    } else {
      constexpr int kDims = kIsFp8<Stored> ? 16 : 8;  // never taken by fp8, but compiled
      launch_paged_decode_pipelined_of<Query, Stored, kDims>(name, params);
    }
    launch_paged_decode_reduce(name, params);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
