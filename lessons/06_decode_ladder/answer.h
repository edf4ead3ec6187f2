/// \file
/// What the kernels of the exercise get, what they may use, and how the check finds those of an answer:
/// answer.cu is compiled with it, once for each target, as any kernel is.
#pragma once

#include "reference/numerics/exact_math.h"
#include "reference/numerics/target.h"

namespace pagelab::lesson_06 {

// Each compiler's copies of the kernels lie in a namespace of their own. It is an inline one, which has to
// be said where it is first named.
inline namespace PAGELAB_TARGET {}

/// Threads of a thread block: four warps.
inline constexpr int kThreadsPerCta = 128;
/// Lanes of a warp.
inline constexpr int kLanes = 32;
/// All of them, as the mask that a shuffle wants.
inline constexpr unsigned int kAllLanes = 0xffffffffu;
/// Keys of a partition: a constant, whatever the context's length. (The ladder's are 512.)
inline constexpr int kKeysPerPartition = 64;
/// Query heads that share a KV head in task 4.
inline constexpr int kHeadsPerGroup = 4;

/// A paged cache of one KV head, and one request's row of the block table.
struct PagedRows {
  const float* cache;      ///< [num_blocks, block_size, head_size] keys, or values
  const int* block_table;  ///< [blocks of the request] the physical block of each logical one
  int block_size;          ///< tokens a block
  int head_size;           ///< elements of a key, or a value

  /// The row of a position: lesson 02.
  /// \param position  below num_keys
  PAGELAB_HD const float* row(int position) const {
    const int physical_block = block_table[position / block_size];
    const int slot = physical_block * block_size + position % block_size;
    return cache + slot * head_size;  // [head_size]
  }
};

/// Task 1: the score of each key.
struct ScoresParams {
  const float* query;  ///< [head_size]
  PagedRows keys;      ///< positions 0 to num_keys - 1
  int num_keys;        ///< 1 or more
  float scale;         ///< factor on the dot product
  float* scores;       ///< [num_keys]
};

/// Task 2: what each partition of the keys contributes.
struct PartitionParams {
  const float* scores;  ///< [num_keys]
  PagedRows values;     ///< positions 0 to num_keys - 1
  int num_keys;         ///< 1 or more
  float* maxima;        ///< [num_partitions] m
  float* sums;          ///< [num_partitions] l
  float* outputs;       ///< [num_partitions, head_size] acc
};

/// Task 3: the attention over all partitions. Some have no visible key: m = −∞, l = 0, acc = 0.
struct ReduceParams {
  const float* maxima;   ///< [num_partitions] m
  const float* sums;     ///< [num_partitions] l
  const float* outputs;  ///< [num_partitions, head_size] acc
  int num_partitions;    ///< 1 or more
  int head_size;         ///< elements of the output
  float* output;         ///< [head_size]; without any visible key zeros
  float* lse;            ///< [1]; without any visible key −∞
};

/// Task 4: the score of each key for each query head of a group.
struct GroupScoresParams {
  const float* queries;  ///< [kHeadsPerGroup, head_size]
  PagedRows keys;        ///< positions 0 to num_keys - 1; head_size is at most kMaxHeadSize
  int num_keys;          ///< 1 or more
  float scale;           ///< factor on the dot product
  float* scores;         ///< [kHeadsPerGroup, num_keys]
};
/// The largest head_size of task 4.
inline constexpr int kMaxHeadSize = 128;

/// The launchers of an answer, and where it was found.
struct Answer {
  const char* path;                                         ///< of the file
  void (*warp_scores)(const ScoresParams& params);          ///< task 1
  void (*partition_states)(const PartitionParams& params);  ///< task 2
  void (*reduce_partitions)(const ReduceParams& params);    ///< task 3
  void (*group_scores)(const GroupScoresParams& params);    ///< task 4
};

namespace on_checked_simulator {
/// The answer, compiled with every access checked and counted.
Answer answer();
}  // namespace on_checked_simulator

namespace on_cuda {
/// The answer, compiled by nvcc. Linked only where there was one.
Answer answer();
}  // namespace on_cuda

inline namespace PAGELAB_TARGET {

/// Partitions of a context.
/// \param num_keys  1 or more
PAGELAB_HD inline int num_partitions(int num_keys) {
  return (num_keys + kKeysPerPartition - 1) / kKeysPerPartition;
}

/// −∞: the maximum of no scores.
PAGELAB_HD inline float minus_infinity() { return float_from_bits(0xff800000u); }

/// e^x. e^−∞ is 0; e^(−∞ − −∞) is NaN.
PAGELAB_HD inline float exp_of(float x) { return exact_exp2(x * kLog2E); }

/// The natural logarithm of a positive number.
PAGELAB_HD inline float log_of(float x) { return exact_log(x); }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
