/// \file
/// What the tests of recorded steps run: small stacks of layers, and a few steps of a few requests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/backends/layer_stack.h"
#include "reference/tensor/tensor.h"
#include "simulator/engine/cudagraph/step_graphs.h"
#include "simulator/engine/step/prepared_step.h"

namespace pagelab::test {

/// 2 KV heads of 32 elements, blocks of 16 tokens, up to 16 tokens and 8 requests a step.
/// \param dtype               of everything
/// \param max_blocks_per_req  columns of the block table
/// \param num_query_heads     query heads
PersistentBatchSizes small_sizes(DType dtype,
                                 std::int64_t max_blocks_per_req = 4,
                                 std::int64_t num_query_heads = 4);

/// Layers of these sizes, whose caches are full of NaN.
LayerStack small_stack(const std::shared_ptr<Device>& device,
                       const PersistentBatchSizes& sizes,
                       std::size_t num_layers,
                       const LayerStackOptions& options);

/// Random numbers in rows of so many heads; those behind `num_rows` are NaN.
Tensor random_rows(std::int64_t num_rows,
                   std::int64_t num_padded,
                   std::int64_t num_heads,
                   std::int64_t head_size,
                   DType dtype,
                   std::uint64_t seed);

/// Query, key and value of a step, the same for every padding.
struct StepInputs {
  Tensor query;  ///< [padded, num_query_heads, 32]
  Tensor key;    ///< [padded, 2, 32]
  Tensor value;  ///< [padded, 2, 32]
};
/// Rows behind `num_tokens` are NaN.
StepInputs step_inputs(std::int64_t num_tokens,
                       std::int64_t num_padded,
                       DType dtype,
                       std::uint64_t seed,
                       std::int64_t num_query_heads = 4);

/// Requests of which each has its own four blocks, by the tokens that each has computed and those that it computes now.
std::vector<StepRequest> requests_of(const std::vector<std::int64_t>& computed,
                                     const std::vector<std::int64_t>& scheduled);

/// Six steps of up to five requests: their prompts in chunks, then decodes, then both.
struct ServedStep {
  std::vector<std::int64_t> computed;   ///< tokens of each request before the step
  std::vector<std::int64_t> scheduled;  ///< tokens of each request in the step
};
/// \copydoc ServedStep
std::vector<ServedStep> served_steps();

/// What a run left: the outputs of every step and layer, of the rows that belong to a request, and the caches.
struct ServedResults {
  std::vector<Tensor> outputs;              ///< of each step and layer
  std::vector<KvCache> caches;              ///< of each layer
  std::vector<CudagraphDispatch> dispatch;  ///< of each step
};

/// Records all graphs of a mode, and serves the steps.
/// \param mode  NONE: nothing is recorded, and nothing padded
ServedResults serve(const std::shared_ptr<Device>& device,
                    CUDAGraphMode mode,
                    DType dtype,
                    const LayerStackOptions& options);

/// The first `num_rows` rows of a tensor.
Tensor first_rows(const Tensor& tensor, std::int64_t num_rows);

}  // namespace pagelab::test
