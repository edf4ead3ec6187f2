#include "simulator/engine/serve/graph_worker.h"

#include <algorithm>

#include "simulator/engine/cache/kv_cache_manager.h"

namespace pagelab {
namespace {

BatchShape shape_of(const std::vector<ScheduledRequest>& requests) {
  BatchShape shape;
  shape.num_reqs = static_cast<std::int64_t>(requests.size());
  std::int64_t longest = 0;
  for (const ScheduledRequest& request : requests) {
    shape.num_tokens += request.num_scheduled_tokens;
    longest = std::max(longest, request.num_scheduled_tokens);
  }
  shape.max_query_len = longest;
  if (longest * shape.num_reqs == shape.num_tokens) shape.uniform_token_count = longest;
  return shape;
}

}  // namespace

GraphWorker::GraphWorker(const GraphWorkerSettings& settings)
    : dispatcher_({.mode = settings.mode,
                   .capture_sizes = settings.capture_sizes,
                   .max_num_seqs = settings.max_num_seqs}),
      manager_({.mode = settings.mode,
                .capture_sizes = settings.capture_sizes,
                .max_num_seqs = settings.max_num_seqs}),
      cascade_(settings.cascade) {}

StepDecision GraphWorker::decide(const std::vector<ScheduledRequest>& requests,
                                 std::span<const Request* const> tables,
                                 std::int64_t num_common_prefix_blocks,
                                 std::int64_t block_size) const {
  const BatchShape shape = shape_of(requests);
  StepDecision decision;
  if (!cascade_) {
    const BatchExecutionDescriptor graph = manager_.dispatch(shape);
    decision.mode = graph.cg_mode;
    decision.num_padded_tokens = graph.num_tokens;
    return decision;
  }
  // The scheduler counts references, which requests outside the batch may hold, too; what counts is what the
  // block tables say.
  const std::int64_t num_common_blocks =
      num_common_prefix_blocks == 0
          ? 0
          : std::min<std::int64_t>(num_common_prefix_blocks, common_prefix_by_tables(tables));
  decide_cascade(decision, requests, num_common_blocks, block_size);
  const bool is_decode = is_uniform_decode(*shape.max_query_len, shape.num_tokens, shape.num_reqs,
                                           dispatcher_.settings().uniform_decode_query_len);
  // A full graph holds the kernels of a step without cascade.
  const CudagraphDispatch graph =
      dispatcher_.dispatch({.num_tokens = shape.num_tokens, .uniform_decode = is_decode},
                           {.full = decision.cascade_prefix_len == 0});
  decision.mode = graph.mode;
  decision.num_padded_tokens = graph.descriptor.num_tokens;
  return decision;
}

void GraphWorker::decide_cascade(StepDecision& decision,
                                 const std::vector<ScheduledRequest>& requests,
                                 std::int64_t num_common_blocks,
                                 std::int64_t block_size) const {
  if (num_common_blocks == 0) return;
  std::int64_t prefix_len = num_common_blocks * block_size;
  for (const ScheduledRequest& request : requests) {
    prefix_len = std::min(prefix_len, request.num_computed_tokens);
  }
  decision.shared_prefix_len = prefix_len / block_size * block_size;
  decision.cascade_prefix_len =
      cascade_prefix_len(num_common_blocks, block_size, requests, *cascade_);
}

}  // namespace pagelab
