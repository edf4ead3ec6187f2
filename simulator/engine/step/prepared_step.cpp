#include "simulator/engine/step/prepared_step.h"

#include <algorithm>

#include "reference/contract/refuse.h"
#include "simulator/engine/step/batch_reorder.h"

namespace pagelab {
namespace {

std::int64_t prefix_len_of(const std::vector<StepRequest>& requests,
                           const StepLayout& layout,
                           const std::optional<SharedPrefix>& prefix) {
  if (!prefix) return 0;
  std::vector<ScheduledRequest> scheduled;
  std::vector<std::vector<std::int32_t>> rows;
  for (const StepRequest& request : requests) {
    scheduled.push_back(request.scheduled);
    rows.push_back(request.block_ids);
  }
  // The scheduler counts references, which requests outside the batch may hold, too; what counts is what the
  // block tables say.
  const std::int64_t num_common =
      std::min(prefix->num_common_prefix_blocks, common_prefix_blocks(rows));
  return cascade_prefix_len(num_common, layout.block_size, scheduled, prefix->setting);
}

BatchShape batch_shape_of(const std::vector<StepRequest>& requests) {
  BatchShape shape;
  shape.num_reqs = static_cast<std::int64_t>(requests.size());
  std::int64_t max_query_len = 0;
  for (const StepRequest& request : requests) {
    shape.num_tokens += request.scheduled.num_scheduled_tokens;
    max_query_len = std::max(max_query_len, request.scheduled.num_scheduled_tokens);
  }
  shape.max_query_len = max_query_len;
  if (max_query_len * shape.num_reqs == shape.num_tokens) shape.uniform_token_count = max_query_len;
  return shape;
}

StepShape step_shape_of(const std::vector<StepRequest>& requests, std::int64_t decode_query_len) {
  const BatchShape shape = batch_shape_of(requests);
  return {.num_tokens = shape.num_tokens,
          .uniform_decode = is_uniform_decode(*shape.max_query_len, shape.num_tokens,
                                              shape.num_reqs, decode_query_len)};
}

}  // namespace

PreparedStep prepare_step(const std::vector<StepRequest>& requests,
                          const StepLayout& layout,
                          const CudagraphDispatcher& dispatcher,
                          const std::optional<SharedPrefix>& prefix) {
  const auto num_reqs = static_cast<std::int64_t>(requests.size());
  if (num_reqs > dispatcher.settings().max_num_seqs) {
    refuse("the batch has {} requests, but graphs were recorded for at most {}.", num_reqs,
           dispatcher.settings().max_num_seqs);
  }
  PreparedStep prepared;
  // Step 1: cascade, which decides about the graph.
  prepared.cascade_prefix_len = prefix_len_of(requests, layout, prefix);

  // Step 2: the graph, which decides about the padding.
  const StepShape shape = step_shape_of(requests, dispatcher.settings().uniform_decode_query_len);
  prepared.dispatch = dispatcher.dispatch(shape, {.full = prepared.cascade_prefix_len == 0});

  // Step 3: the arrays.
  const BatchDescriptor& descriptor = prepared.dispatch.descriptor;
  prepared.step = build_step(
      requests, layout, PaddedShape{descriptor.num_tokens, descriptor.num_reqs.value_or(num_reqs)});
  return prepared;
}

SortedStep prepare_sorted_step(const std::vector<StepRequest>& requests,
                               const StepLayout& layout,
                               const CudaGraphManager& manager) {
  // Step 1: the order.
  std::vector<ScheduledRequest> scheduled;
  for (const StepRequest& request : requests) scheduled.push_back(request.scheduled);
  SortedStep sorted;
  sorted.order = sorted_batch(scheduled, manager.settings().decode_query_len);
  std::vector<StepRequest> in_order;
  for (const std::int64_t req_idx : sorted.order) {
    in_order.push_back(requests[static_cast<std::size_t>(req_idx)]);
  }

  // Step 2: the graph, which decides about the padding.
  sorted.dispatch = manager.dispatch(batch_shape_of(in_order));

  // Step 3: the arrays.
  const std::int64_t num_reqs =
      sorted.dispatch.num_reqs.value_or(static_cast<std::int64_t>(requests.size()));
  sorted.step = build_step(in_order, layout, PaddedShape{sorted.dispatch.num_tokens, num_reqs});
  return sorted;
}

}  // namespace pagelab
