// rotary_embedding: one thread a pair of elements.
//
// Problem  with the pair (x, y) of elements i and i + head_size/2 of a head, and the cosine c and sine s that the table
//          has for pair i at the token's position: (c·x − s·y, c·y + s·x), rounded to float32.
// Shapes   input and output [num_tokens, num_heads, head_size], positions [num_tokens],
//          cos_sin_cache [max_position, head_size]: a position's head_size/2 cosines, then its sines
// Mapping  thread i → pair i % pairs of head i / pairs; the halves of a warp's pairs are neighbours in memory.
// Cost     each element read and written once, and a cosine and a sine a thread; memory limits it.
// Order    as reference/model/rope.h: two products, then their sum; the bits are the same before rounding. The table is
//          made on the host, once for all positions: cosines of CUDA and of a C library need not agree.
// Source   vLLM csrc/pos_encoding_kernels.cu, rotary_embedding_kernel (its NeoX form). Differs: it turns in place, and
//          queries and keys in one launch; here the result goes where attention reads it, as float32.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/model/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// static: a kernel that is no template has one definition, in one file.
static __global__ void rotary_embedding(RotaryEmbeddingParams params) {
  // Which pair this thread owns: pair of head of token, the pair running fastest.
  const std::int64_t num_pairs = params.head_size / 2;
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t head = flat_index / num_pairs;
  const std::int64_t token_idx = head / params.num_heads;
  if (token_idx >= params.num_tokens) return;
  const std::int64_t pair = flat_index % num_pairs;
  const std::int64_t first_idx = head * params.head_size + pair;
  const std::int64_t second_idx = first_idx + num_pairs;

  // Step 1: the angle
  const std::int64_t position = params.positions[token_idx];
  const double* angles = params.cos_sin_cache + position * params.head_size;
  const double cosine = angles[pair];
  const double sine = angles[num_pairs + pair];

  // Step 2: turn and round
  const double first = params.input[first_idx];
  const double second = params.input[second_idx];
  params.output[first_idx] = static_cast<float>(first * cosine - second * sine);
  params.output[second_idx] = static_cast<float>(second * cosine + first * sine);
}

// Turns any number of tokens.
inline void launch_rotary_embedding(const RotaryEmbeddingParams& params) {
  const char* const name = "model/rotary_embedding";
  constexpr unsigned int kThreadsPerCta = 128;
  require_range(name, "num_tokens", params.num_tokens, 0, kMostOfAModel);
  require_range(name, "num_heads", params.num_heads, 1, kMostOfAModel);
  require_range(name, "head_size", params.head_size, 2, kMostOfAModel);
  require_taken(name, params.head_size % 2 == 0
                          ? ""
                          : "head_size is " + std::to_string(params.head_size) +
                                ", but it must be even: elements turn in pairs.");
  const std::int64_t num_elements = params.num_tokens * params.num_heads * params.head_size;
  require_array(name, "input", params.input, num_elements);
  require_array(name, "positions", params.positions, params.num_tokens);
  require_array(name, "cos_sin_cache", params.cos_sin_cache, num_elements);
  require_array(name, "output", params.output, num_elements);
  if (num_elements == 0) return;
  launch(name, ctas_for(num_elements / 2, kThreadsPerCta), kThreadsPerCta, rotary_embedding,
         params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
