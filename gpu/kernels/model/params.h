/// \file
/// What the kernels of a model's layers get: everything of a Llama that is not attention. All of it is float64, as on
/// the CPU (reference/model); at the border to attention heads are float32. Plain data, passed by value; pointers
/// are device addresses. Matrices are row-major, a row a token; rows of padding are computed as all others.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// Rows of a matrix, in the order asked for: the embedding of token ids, and the tokens whose logits are wanted.
struct GatherRowsParams {
  const double* matrix = nullptr;             ///< [num_matrix_rows, size]
  const std::int32_t* row_indices = nullptr;  ///< [num_rows] each below num_matrix_rows
  std::int64_t num_rows = 0;                  ///< wanted
  std::int64_t size = 0;                      ///< elements of a row
  double* output = nullptr;                   ///< [num_rows, size]
};

/// RMSNorm of every token.
struct RmsNormParams {
  const double* input = nullptr;   ///< [num_tokens, size]
  const double* weight = nullptr;  ///< [size]
  double eps = 0;                  ///< keeps a row of zeros finite, > 0
  std::int64_t num_tokens = 0;     ///< rows
  std::int64_t size = 0;           ///< elements of a token
  double* output = nullptr;        ///< [num_tokens, size]; not `input`
};

/// A projection of every token, added to what it goes around where there is a residual.
/// \tparam Input  double, or float for the heads that attention returns
template <typename Input>
struct LinearParams {
  const Input* input = nullptr;      ///< [num_tokens, input_size]
  const double* weight = nullptr;    ///< [input_size, output_size]
  const double* residual = nullptr;  ///< [num_tokens, output_size], may be `output`; null: nothing
  std::int64_t num_tokens = 0;       ///< rows
  std::int64_t input_size = 0;       ///< elements of a token before
  std::int64_t output_size = 0;      ///< elements of a token after
  double* output = nullptr;          ///< [num_tokens, output_size]; not `input`
};

/// Queries or keys turned by their positions, and rounded for attention.
struct RotaryEmbeddingParams {
  const double* input = nullptr;            ///< [num_tokens, num_heads, head_size]
  const std::int64_t* positions = nullptr;  ///< [num_tokens] each a row of the table
  const double* cos_sin_cache =
      nullptr;                  ///< [max_position, head_size]: cosines, then as many sines
  std::int64_t num_tokens = 0;  ///< rows
  std::int64_t num_heads = 0;   ///< heads of a token
  std::int64_t head_size = 0;   ///< elements of a head, even
  float* output = nullptr;      ///< [num_tokens, num_heads, head_size]
};

/// Values rounded for attention.
struct RoundToFloatParams {
  const double* input = nullptr;  ///< [num_elements]
  std::int64_t num_elements = 0;  ///< of any shape
  float* output = nullptr;        ///< [num_elements]
};

/// The gate of an MLP: silu(gate) · up.
struct SiluAndMulParams {
  const double* gate = nullptr;   ///< [num_elements]
  const double* up = nullptr;     ///< [num_elements]
  std::int64_t num_elements = 0;  ///< tokens times intermediate size
  double* output = nullptr;       ///< [num_elements]; may be `gate` or `up`
};

/// The launchers of these kernels. Each throws Error for parameters that it cannot take.
struct ModelKernels {
  void (*gather_rows)(const GatherRowsParams& params);            ///< model/gather_rows.cuh
  void (*rms_norm)(const RmsNormParams& params);                  ///< model/rms_norm.cuh
  void (*linear)(const LinearParams<double>& params);             ///< model/linear.cuh
  void (*linear_of_heads)(const LinearParams<float>& params);     ///< model/linear.cuh
  void (*rotary_embedding)(const RotaryEmbeddingParams& params);  ///< model/rotary_embedding.cuh
  void (*round_to_float)(const RoundToFloatParams& params);       ///< model/elementwise.cuh
  void (*silu_and_mul)(const SiluAndMulParams& params);           ///< model/elementwise.cuh
};

inline namespace PAGELAB_TARGET {

/// The most rows, and elements of a row, that these kernels are launched for.
inline constexpr std::int64_t kMostOfAModel = std::int64_t{1} << 31;

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
