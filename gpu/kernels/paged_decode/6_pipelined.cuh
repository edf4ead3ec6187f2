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
//          begun two tiles before; the partition's part of the block table lies in shared memory; a score
//          is finished by 3 shuffles among 8 lanes instead of 5 among 32; each of a tile's exponentials is
//          computed by one lane; and no thread block is in step, because every warp has its own online
//          softmax, merged once at the partition's end.
//          64 × 8192 keys: 0.80 ms instead of 5.8 on an H200 (shapes and log: 3_cta.cuh), 62 % of the rate
//          at which a kernel there only reads. What it waits for is no longer memory but the issue of
//          instructions: 490 million a launch, and the schedulers were busy 62 % of the time (ncu).
// Order    a score's product: a lane's chain of fma over its elements in increasing order, then lanes 4, 2
//          and 1 apart; for fp8 the product is of codes, and times k_scale. A tile joins its warp's state:
//          with the new maximum, l and acc are multiplied by exp(old − new), then p is added to the part
//          of l of one of the lanes, and by fma to acc, keys 0 to 3 before 4 to 7. At the end the lanes' parts
//          are added (acc: lanes 8, then 16 apart; l: lanes 16, 8, … apart, down to the number of heads), warps
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
  const int warp_idx = thread_idx / 32;
  const int lane_idx = thread_idx % 32;
  QueryRow row = query_row_of(params, token_idx, pack.first_head_idx);
  if (row.is_padding) return;
  const std::int64_t first_position = partition * kPartitionLen;
  const KeyRange visible = visible_part(params, row, first_position);
  if (visible.begin >= visible.end) return;  // the reduce knows, too

  // Step 1: locate the block
  // All of the partition's, before anybody needs one; and the queries, as floats, zero beyond the head.
  const std::int64_t first_block = visible.begin / params.block_size;
  const std::int64_t end_block = (visible.end - 1) / params.block_size + 1;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  for (std::int64_t block = first_block + thread_idx; block < end_block; block += kDecodeThreads) {
    shared.blocks[block - first_block] = block_table_row[block];
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
  Pipeline pipeline(params, row, visible, first_block, shared.blocks, shared.stages, warp_idx,
                    lane_idx);
  float query[kHeads][kDims];  // this lane's elements
  pipeline.read_own_elements(shared.queries, query);

  // The state of this warp: of head lane_idx % kHeads in every lane m and a part of l, and this lane's
  // elements of every head's acc.
  float m = float_from_bits(0xff800000u);
  float l = 0.0f;
  float acc[kHeads][kDims] = {};
  float* scores = shared.scores + warp_idx * Pipeline::kScoresPerTile;  // [key of the tile][head]
  row.head_idx = pack.head_idx(lane_idx % kHeads);
  const float k_scale = kIsFp8<Stored> ? params.k_scales[row.kv_head_idx] : 1.0f;

  pipeline.begin(first_position);
  while (pipeline.has_tile()) {
    pipeline.wait_for_tile();

    // Step 2: scores
    PAGELAB_UNROLL
    for (int round = 0; round < Pipeline::kRounds; ++round) {
      float query_dot_key[kHeads];
      pipeline.multiply_key(round, query, query_dot_key);
      // Eight lanes have it now; lane h of them writes head h.
      const int key_idx = round * Pipeline::kKeysPerRound + lane_idx / Pipeline::kLanesPerKey;
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        if (lane_idx % Pipeline::kLanesPerKey == h) {
          scores[key_idx * kHeads + h] = query_dot_key[h];
        }
      }
    }
    __syncwarp();

    // Step 3: softmax update
    // Now a lane a score, of key entry / kHeads and head entry % kHeads.
    float score[Pipeline::kScoresPerLane] = {};
    bool is_seen[Pipeline::kScoresPerLane];
    float tile_m = float_from_bits(0xff800000u);
    PAGELAB_UNROLL
    for (int n = 0; n < Pipeline::kScoresPerLane; ++n) {
      const int entry = lane_idx + 32 * n;
      const std::int64_t position = pipeline.first_position_of_tile() + entry / kHeads;
      is_seen[n] = entry < Pipeline::kScoresPerTile && pipeline.is_seen(position);
      if (!is_seen[n]) continue;
      score[n] = scaled_score(params, row, scores[entry] * k_scale, position);
      tile_m = larger(score[n], tile_m);
    }
    const float m_before = m;
    m = larger(larger_of_every(kHeads, tile_m), m);
    const float base = base_of(m);
    const float rescale = softmax_weight(m_before, base);
    l = l * rescale;
    PAGELAB_UNROLL
    for (int n = 0; n < Pipeline::kScoresPerLane; ++n) {
      const float p = is_seen[n] ? softmax_weight(score[n], base) : 0.0f;
      l = l + p;
      if (lane_idx + 32 * n < Pipeline::kScoresPerTile) scores[lane_idx + 32 * n] = p;
    }
    __syncwarp();

    // Step 4: weighted values
    // Most tiles bring no new maximum: then every lane's factor is 1, and multiplying by it changes nothing.
    if (__any_sync(kWholeWarp, rescale != 1.0f)) {
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        const float rescale_of_head = __shfl_sync(kWholeWarp, rescale, h);
        PAGELAB_UNROLL
        for (int i = 0; i < kDims; ++i) acc[h][i] = acc[h][i] * rescale_of_head;
      }
    }
    PAGELAB_UNROLL
    for (int round = 0; round < Pipeline::kRounds; ++round) {
      const int key_idx = round * Pipeline::kKeysPerRound + lane_idx / Pipeline::kLanesPerKey;
      float p[kHeads];
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) p[h] = scores[key_idx * kHeads + h];
      pipeline.add_value(round, p, acc);
    }
    __syncwarp();  // before the next tile's scores overwrite the weights
    pipeline.next_tile();
  }
  pipeline.drain();

  // Step 5: nothing here, reduce_partitions.cuh normalises
  // The four warps merge what they have; the stages of the pipeline have room for it.
  l = sum_of_every(kHeads, l);
  pipeline.add_keys_up(acc);
  __syncthreads();
  const MergedWarps<kHeads, Pipeline::kRowSize> warps(shared.stages);
  if (lane_idx < kHeads) warps.set_state(warp_idx, lane_idx, m, l);
  pipeline.write_own_elements(acc, warps.outputs(warp_idx));
  __syncthreads();
  const float v_scale = kIsFp8<Stored> ? params.v_scales[row.kv_head_idx] : 1.0f;
  for (int index = thread_idx; index < kHeads * Pipeline::kRowSize; index += kDecodeThreads) {
    const int h = index / Pipeline::kRowSize;
    const int d = index % Pipeline::kRowSize;
    if (h >= pack.num_heads || d >= params.head_size_v) continue;
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    const MergedState merged = warps.merge(h, d);
    states.output(row_idx, partition)[d] = merged.acc * v_scale;
    if (d > 0) continue;
    states.maxima[states.index(row_idx, partition)] = merged.m;
    states.sums[states.index(row_idx, partition)] = merged.l;
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
