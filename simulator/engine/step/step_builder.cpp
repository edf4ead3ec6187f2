#include "simulator/engine/step/step_builder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

constexpr std::int64_t kTableAlignment = 128;  // tokens that a row's blocks hold a multiple of

void require_sound(const StepLayout& layout) {
  require_in_range("block_size", layout.block_size, 1);
  require_in_range("max_blocks_per_req", layout.max_blocks_per_req, 0);
  require_in_range("padding_seq_len", layout.padding_seq_len, 0, kMostTokens);
  require_in_range("world_size", layout.parallel.world_size, 1);
}

// Every token of this step needs a block that is the request's own.
void require_blocks(const StepRequest& request, std::size_t req_idx, const StepLayout& layout) {
  const std::int64_t positions_per_block = layout.block_size * layout.parallel.world_size;
  const std::int64_t num_blocks =
      blocks_for_tokens(request.scheduled.seq_len(), positions_per_block);
  if (num_blocks > static_cast<std::int64_t>(request.block_ids.size())) {
    refuse("request {} has {} tokens after this step, which need {} blocks of {}, but it has {}.",
           req_idx, request.scheduled.seq_len(), num_blocks, positions_per_block,
           request.block_ids.size());
  }
  for (std::int64_t block = request.scheduled.num_computed_tokens / positions_per_block;
       block < num_blocks; ++block) {
    const std::int32_t block_id = request.block_ids[static_cast<std::size_t>(block)];
    if (block_id <= kNullBlock) {
      refuse(
          "logical block {} of request {} is {}, but this step stores tokens there; only blocks "
          "from 1 on belong to requests.",
          block, req_idx, block_id);
    }
  }
}

PaddedShape padded_shape(const std::vector<StepRequest>& requests,
                         const std::optional<PaddedShape>& padding) {
  PaddedShape actual = {0, static_cast<std::int64_t>(requests.size())};
  for (const StepRequest& request : requests) {
    actual.num_tokens += request.scheduled.num_scheduled_tokens;
  }
  if (!padding) return actual;
  require_in_range("the padded num_tokens", padding->num_tokens, 0);
  require_in_range("the padded num_reqs", padding->num_reqs, 0);
  if (padding->num_tokens < actual.num_tokens || padding->num_reqs < actual.num_reqs) {
    refuse("a step of {} requests and {} tokens does not fit {} requests and {} tokens.",
           actual.num_reqs, actual.num_tokens, padding->num_reqs, padding->num_tokens);
  }
  return *padding;
}

std::int64_t columns_of(const std::vector<StepRequest>& requests, const StepLayout& layout) {
  std::int64_t longest = 0;
  for (std::size_t req_idx = 0; req_idx < requests.size(); ++req_idx) {
    const auto num_blocks = static_cast<std::int64_t>(requests[req_idx].block_ids.size());
    if (layout.max_blocks_per_req > 0 && num_blocks > layout.max_blocks_per_req) {
      refuse("request {} has {} blocks, but block_table has {} columns.", req_idx, num_blocks,
             layout.max_blocks_per_req);
    }
    longest = std::max(longest, num_blocks);
  }
  return layout.max_blocks_per_req > 0 ? layout.max_blocks_per_req : longest;
}

BlockTable block_table_of(const std::vector<StepRequest>& requests,
                          const StepLayout& layout,
                          std::int64_t num_reqs) {
  BlockTable table = BlockTable::unused(num_reqs, columns_of(requests, layout));
  std::fill(table.entries.begin(), table.entries.end(), kNullBlock);
  for (std::size_t req_idx = 0; req_idx < requests.size(); ++req_idx) {
    const std::vector<std::int32_t>& block_ids = requests[req_idx].block_ids;
    const std::span<std::int32_t> row = table.row(static_cast<std::int64_t>(req_idx));
    std::copy(block_ids.begin(), block_ids.end(), row.begin());
  }
  return table;
}

// Lengths and boundaries are int32, as the kernels read them.
std::int32_t narrow(std::int64_t number, const char* name) {
  if (number > std::numeric_limits<std::int32_t>::max()) {
    refuse("{} reaches {}, which is no int32.", name, number);
  }
  return static_cast<std::int32_t>(number);
}

}  // namespace

BuiltStep build_step(const std::vector<StepRequest>& requests,
                     const StepLayout& layout,
                     const std::optional<PaddedShape>& padding) {
  require_sound(layout);
  std::vector<ScheduledRequest> scheduled;
  for (const StepRequest& request : requests) scheduled.push_back(request.scheduled);
  require_sound(scheduled);
  for (std::size_t req_idx = 0; req_idx < requests.size(); ++req_idx) {
    require_blocks(requests[req_idx], req_idx, layout);
  }

  // Step 1: the size of everything.
  const PaddedShape shape = padded_shape(requests, padding);
  const auto num_rows = static_cast<std::size_t>(shape.num_reqs);

  // Step 2: lengths and boundaries. A padded row has no query tokens.
  BuiltStep step;
  CommonAttentionMetadata& metadata = step.metadata;
  std::int64_t num_tokens = 0;
  for (const ScheduledRequest& request : scheduled) {
    num_tokens += request.num_scheduled_tokens;
    metadata.query_start_loc.push_back(narrow(num_tokens, "query_start_loc"));
    metadata.seq_lens.push_back(narrow(request.seq_len(), "seq_lens"));
    step.is_prefilling.push_back(request.is_prefilling());
  }
  metadata.query_start_loc.resize(num_rows + 1, metadata.query_start_loc.back());
  metadata.seq_lens.resize(num_rows, layout.padding_seq_len);
  step.is_prefilling.resize(num_rows, false);

  // Step 3: where each token stands in its request, and where its keys and values go.
  metadata.block_table = block_table_of(requests, layout, shape.num_reqs);
  step.positions = positions_of(metadata.query_start_loc, metadata.seq_lens);
  metadata.slot_mapping =
      slot_mapping_of(metadata.block_table, metadata.query_start_loc, metadata.seq_lens,
                      layout.block_size, shape.num_tokens, layout.parallel);
  return step;
}

std::vector<BatchRow> BuiltStep::rows() const {
  std::vector<BatchRow> rows;
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const auto row = static_cast<std::size_t>(req_idx);
    rows.push_back({metadata.query_len(req_idx), metadata.seq_lens[row], is_prefilling[row]});
  }
  return rows;
}

std::int64_t block_table_columns(std::int64_t max_model_len, std::int64_t block_size) {
  require_in_range("max_model_len", max_model_len, 1, kMostTokens);
  require_in_range("block_size", block_size, 1);
  const std::int64_t alignment = kTableAlignment / std::gcd(kTableAlignment, block_size);
  const std::int64_t num_blocks = blocks_for_tokens(max_model_len, block_size);
  return (num_blocks + alignment - 1) / alignment * alignment;
}

}  // namespace pagelab
