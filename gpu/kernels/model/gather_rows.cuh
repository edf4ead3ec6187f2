// gather_rows: one thread an element.
//
// Problem  output[r][i] = matrix[row_indices[r]][i]. Of a table of embeddings, with token ids: where a model begins. Of
//          its last activations, with the tokens after which a next one is wanted: where it ends.
// Shapes   matrix [num_matrix_rows, size], row_indices [num_rows], output [num_rows, size]
// Mapping  thread i → element i % size of row i / size; neighbours read and write neighbours.
// Cost     each wanted element read and written once; memory limits it.
// Expects  indices within the matrix: the model checks token ids on the host, before they are copied.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/model/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// static: a kernel that is no template has one definition, in one file.
static __global__ void gather_rows(GatherRowsParams params) {
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = flat_index / params.size;
  if (row >= params.num_rows) return;
  const std::int64_t element_idx = flat_index % params.size;
  const std::int64_t matrix_row = params.row_indices[row];
  params.output[flat_index] = params.matrix[matrix_row * params.size + element_idx];
}

// Gathers any number of rows.
inline void launch_gather_rows(const GatherRowsParams& params) {
  const char* const name = "model/gather_rows";
  constexpr unsigned int kThreadsPerCta = 256;
  require_range(name, "num_rows", params.num_rows, 0, kMostOfAModel);
  require_range(name, "size", params.size, 1, kMostOfAModel);
  const std::int64_t num_elements = params.num_rows * params.size;
  require_array(name, "matrix", params.matrix, num_elements);
  require_array(name, "row_indices", params.row_indices, params.num_rows);
  require_array(name, "output", params.output, num_elements);
  if (num_elements == 0) return;
  launch(name, ctas_for(num_elements, kThreadsPerCta), kThreadsPerCta, gather_rows, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
