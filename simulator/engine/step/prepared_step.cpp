#include "simulator/engine/step/prepared_step.h"

#include <algorithm>

#include "reference/contract/refuse.h"

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

StepShape shape_of(const std::vector<StepRequest>& requests, std::int64_t decode_query_len) {
  StepShape shape;
  std::int64_t max_query_len = 0;
  for (const StepRequest& request : requests) {
    shape.num_tokens += request.scheduled.num_scheduled_tokens;
    max_query_len = std::max(max_query_len, request.scheduled.num_scheduled_tokens);
  }
  shape.uniform_decode =
      is_uniform_decode(max_query_len, shape.num_tokens, static_cast<std::int64_t>(requests.size()),
                        decode_query_len);
  return shape;
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
  const StepShape shape = shape_of(requests, dispatcher.settings().uniform_decode_query_len);
  prepared.dispatch = dispatcher.dispatch(shape, {.full = prepared.cascade_prefix_len == 0});

  // Step 3: the arrays.
  const BatchDescriptor& descriptor = prepared.dispatch.descriptor;
  prepared.step = build_step(
      requests, layout, PaddedShape{descriptor.num_tokens, descriptor.num_reqs.value_or(num_reqs)});
  return prepared;
}

}  // namespace pagelab
