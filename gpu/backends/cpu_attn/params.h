/// \file
/// What the fast CPU attention works on: the call, its division into tasks, and the memory that a
/// thread works in. Plain structs, which the code for every width of vector shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "reference/attention/variants.h"
#include "reference/cache/kv_cache.h"
#include "reference/tensor/dtype.h"

namespace pagelab::cpu_attn {

/// Keys that share one step of the online softmax. Tiles begin at multiples of it in the request,
/// wherever its blocks lie and whatever else is in the batch.
inline constexpr std::int64_t kKeysPerTile = 64;
/// Keys of a task where a request's keys are divided: a constant, so that a row's bits do not depend
/// on the number of threads.
inline constexpr std::int64_t kKeysPerPartition = 1024;
/// Rows (query tokens times the heads of a group) up to which a vector holds elements of the head, as
/// in a decode step; from there on it holds rows.
inline constexpr std::int64_t kFewRows = 16;
/// Rows of a task; a request with more has several tasks a KV head.
inline constexpr std::int64_t kRowsPerTask = 128;
/// Rows of a tile that are read beyond its last key, so that loops may go on in steps of this size.
inline constexpr std::int64_t kSpareKeys = 8;

/// One attention call. Rows of a request are its query tokens times the query heads of a KV head's
/// group, the heads of one token side by side.
struct Params {
  const std::byte* query = nullptr;  ///< [num_tokens, num_query_heads, head_size]
  DType query_dtype{};               ///< element type of query
  std::int64_t num_tokens = 0;       ///< rows of query, padding included
  std::int64_t num_query_heads = 0;  ///< a multiple of num_kv_heads
  std::int64_t num_kv_heads = 0;     ///< KV heads
  std::int64_t head_size = 0;        ///< elements of a query and a key
  std::int64_t head_size_v = 0;      ///< elements of a value

  std::int64_t num_reqs = 0;                      ///< requests
  const std::int32_t* query_start_loc = nullptr;  ///< [num_reqs + 1] first token of each request
  const std::int32_t* seq_lens = nullptr;         ///< [num_reqs] keys of each request
  const std::int32_t* block_table = nullptr;      ///< [num_reqs, max_blocks_per_req]
  std::int64_t max_blocks_per_req = 0;            ///< columns of the block table

  const std::byte* keys = nullptr;    ///< first key
  KvStrides key_strides;              ///< where the others are, in elements
  const std::byte* values = nullptr;  ///< first value
  KvStrides value_strides;            ///< where the others are, in elements
  DType kv_dtype{};                   ///< element type of keys and values
  std::int64_t block_size = 1;        ///< tokens a block
  const float* k_scales = nullptr;    ///< [num_kv_heads] an fp8 code times this is the key
  const float* v_scales = nullptr;    ///< [num_kv_heads] likewise for values

  float scale = 1.0f;                   ///< factor on the scores
  VisibilityRule visibility;            ///< causality and window; cross attention has neither
  bool has_softcap = false;             ///< whether logit_softcap counts
  float logit_softcap = 0.0f;           ///< cap · tanh(score / cap)
  const float* alibi_slopes = nullptr;  ///< [num_query_heads], or nullptr
  const float* sinks = nullptr;         ///< [num_query_heads], or nullptr
  const MmPrefixRange* mm_prefix_ranges = nullptr;  ///< [num_mm_prefix_ranges], or nullptr
  std::int64_t num_mm_prefix_ranges = 0;            ///< prefix-LM ranges of all requests

  float* output = nullptr;  ///< [num_tokens, num_query_heads, head_size_v]
  float* lse = nullptr;     ///< [num_query_heads, num_tokens] natural log

  // Where a request's keys are divided, each part leaves its rows here, until they are merged.
  float* partial_m = nullptr;    ///< [num_partial_rows] maximum of the part's scores
  float* partial_l = nullptr;    ///< [num_partial_rows] sum of its weights
  float* partial_acc = nullptr;  ///< [num_partial_rows, head_size_v] sum of its weighted values

  /// Query heads that share a KV head.
  std::int64_t group_size() const { return num_query_heads / num_kv_heads; }
};

/// "The rows of a task are finished as they are": there is nothing to merge.
inline constexpr std::int64_t kNotPartial = -1;

/// Some rows of one request and KV head against some of its keys: what one thread does at a time.
struct Task {
  std::int64_t req_idx;            ///< request
  std::int64_t kv_head_idx;        ///< KV head
  std::int64_t first_row;          ///< of the request
  std::int64_t num_rows;           ///< 1 to kRowsPerTask
  KeyRange keys;                   ///< positions; whole tiles but for the last
  std::int64_t first_partial_row;  ///< where the rows go in Params::partial_*, or kNotPartial
};

/// Floats at an address that vectors can be loaded from in one piece.
class AlignedFloats {
 public:
  /// Zeros.
  explicit AlignedFloats(std::int64_t size)
      : floats_(static_cast<float*>(::operator new(bytes_of(size), kAlignment))) {
    for (std::int64_t index = 0; index < size; ++index) floats_[index] = 0.0f;
  }
  /// Takes over the other's memory.
  AlignedFloats(AlignedFloats&& other) noexcept : floats_(other.floats_) {
    other.floats_ = nullptr;
  }
  AlignedFloats& operator=(AlignedFloats&&) = delete;
  ~AlignedFloats() { ::operator delete(floats_, kAlignment); }

  float* data() { return floats_; }  ///< the first of them

 private:
  static constexpr std::align_val_t kAlignment{64};
  static std::size_t bytes_of(std::int64_t size) {
    return static_cast<std::size_t>(size) * sizeof(float);
  }
  float* floats_;
};

/// Where the keys and values of a tile lie: entries from num_keys on repeat the last one.
struct TileRows {
  std::int64_t first_position = 0;                          ///< of the request
  std::int64_t num_keys = 0;                                ///< at most kKeysPerTile
  const std::byte* keys[kKeysPerTile + kSpareKeys] = {};    ///< stored keys
  const std::byte* values[kKeysPerTile + kSpareKeys] = {};  ///< stored values
};

/// Elements of a head in memory of ours: whole vectors, zeros at the end.
inline constexpr std::int64_t padded(std::int64_t head_size) { return (head_size + 15) / 16 * 16; }

/// One thread's memory. It is allocated before the work begins, and used for task after task.
struct Scratch {
  /// Enough for every task of a call.
  explicit Scratch(const Params& params)
      : query(kRowsPerTask * padded(params.head_size)),
        acc(kRowsPerTask * padded(params.head_size_v)),
        m(kRowsPerTask),
        l(kRowsPerTask),
        rescale(kRowsPerTask),
        slopes(kRowsPerTask),
        weights((kKeysPerTile + kSpareKeys) * 32),
        keys((kKeysPerTile + kSpareKeys) * padded(params.head_size)),
        values((kKeysPerTile + kSpareKeys) * padded(params.head_size_v)),
        row(padded(params.head_size)) {}

  AlignedFloats query;    ///< the task's query rows, as its form of the product wants them
  AlignedFloats acc;      ///< sums of weighted values, not normalised
  AlignedFloats m;        ///< [kRowsPerTask] maximum of the scores so far
  AlignedFloats l;        ///< [kRowsPerTask] sum of the weights so far
  AlignedFloats rescale;  ///< [kRowsPerTask] e^(old m − new m), of the current tile
  AlignedFloats slopes;   ///< [kRowsPerTask] ALiBi, or zeros
  AlignedFloats weights;  ///< scores of a tile, then its weights; [key, row]
  AlignedFloats keys;     ///< a tile's keys as float32, where the stored ones cannot be used
  AlignedFloats values;   ///< likewise its values
  AlignedFloats row;      ///< one query row on its way
  std::int32_t positions[kRowsPerTask] = {};  ///< of the rows' tokens
  std::int32_t begins[kRowsPerTask] = {};     ///< first key that a row sees
  std::int32_t ends[kRowsPerTask] = {};       ///< one past the last one
  TileRows tile;                              ///< the current tile
  TileRows next_tile;                         ///< the one after it, to be fetched from memory
};

}  // namespace pagelab::cpu_attn
