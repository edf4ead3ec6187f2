/// \file
/// What the kernels of the exercise get, and how the check finds those of an answer: answer.cu is
/// compiled with it, once for each target, as any kernel is.
#pragma once

#include "lessons/05_a_first_cuda_kernel/sizes.h"

namespace pagelab::lesson_05 {

/// Task 1: the largest of all scores, the m of the softmax.
struct LargestScoreParams {
  const float* scores;  ///< [num_keys]
  float* largest;       ///< [1]
  int num_keys;         ///< 1 or more
};

/// Task 2: a score for each key, with the query in shared memory.
struct SharedQueryParams {
  const float* query;  ///< [head_size]
  const float* keys;   ///< [num_keys, head_size]
  float* scores;       ///< [num_keys]
  int num_keys;        ///< 1 or more
  int head_size;       ///< 1 to kMaxHeadSize
  float scale;         ///< factor on the dot product
};

/// Task 3: each value times the weight of its key.
struct WeightedValuesParams {
  const float* weights;  ///< [num_keys]
  const float* values;   ///< [num_keys, head_size]
  float* weighted;       ///< [num_keys, head_size]
  int num_keys;          ///< 1 or more
  int head_size;         ///< 1 or more
};

/// Task 4: the keys with rows and columns exchanged.
struct TransposedKeysParams {
  const float* keys;  ///< [num_keys, head_size]
  float* transposed;  ///< [head_size, num_keys]
  int num_keys;       ///< 1 or more
  int head_size;      ///< 1 or more
};

/// The launchers of an answer, and where it was found.
struct Answer {
  const char* path;                                             ///< of the file
  void (*largest_score)(const LargestScoreParams& params);      ///< task 1
  void (*shared_query)(const SharedQueryParams& params);        ///< task 2
  void (*weighted_values)(const WeightedValuesParams& params);  ///< task 3
  void (*transposed_keys)(const TransposedKeysParams& params);  ///< task 4
};

namespace on_checked_simulator {
/// The answer, compiled with every access checked and counted.
Answer answer();
}  // namespace on_checked_simulator

namespace on_cuda {
/// The answer, compiled by nvcc. Linked only where there was one.
Answer answer();
}  // namespace on_cuda

}  // namespace pagelab::lesson_05
