#include "simulator/engine/step/step_buffers.h"

#include <algorithm>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

StepLimits checked(const StepLimits& limits) {
  require_in_range("max_num_tokens", limits.max_num_tokens, 1);
  require_in_range("max_num_reqs", limits.max_num_reqs, 1);
  require_in_range("max_blocks_per_req", limits.max_blocks_per_req, 1);
  require_in_range("padding_seq_len", limits.padding_seq_len, 0, kMostTokens);
  return limits;
}

// Writes values in front, and the filler behind them up to the end of the buffer.
template <typename Value>
void overwrite(std::vector<Value>& buffer, const std::vector<Value>& values, Value filler) {
  const auto rest = std::copy(values.begin(), values.end(), buffer.begin());
  std::fill(rest, buffer.end(), filler);
}

}  // namespace

StepBuffers::StepBuffers(const StepLimits& limits)
    : limits_(checked(limits)),
      query_start_loc_(static_cast<std::size_t>(limits.max_num_reqs) + 1, 0),
      seq_lens_(static_cast<std::size_t>(limits.max_num_reqs), limits.padding_seq_len),
      block_table_(static_cast<std::size_t>(limits.max_num_reqs * limits.max_blocks_per_req),
                   kNullBlock),
      slot_mapping_(static_cast<std::size_t>(limits.max_num_tokens), kNoSlot) {}

void StepBuffers::update(const BuiltStep& step) {
  const CommonAttentionMetadata& metadata = step.metadata;
  const BlockTable& table = metadata.block_table;
  const auto num_tokens = static_cast<std::int64_t>(metadata.slot_mapping.size());
  if (metadata.num_reqs() > limits_.max_num_reqs || num_tokens > limits_.max_num_tokens ||
      table.max_blocks_per_req > limits_.max_blocks_per_req) {
    refuse("a step of {} requests, {} tokens and {} columns does not fit buffers of {}, {} and {}.",
           metadata.num_reqs(), num_tokens, table.max_blocks_per_req, limits_.max_num_reqs,
           limits_.max_num_tokens, limits_.max_blocks_per_req);
  }
  overwrite(query_start_loc_, metadata.query_start_loc, metadata.query_start_loc.back());
  overwrite(seq_lens_, metadata.seq_lens, limits_.padding_seq_len);
  overwrite(slot_mapping_, metadata.slot_mapping, kNoSlot);

  std::fill(block_table_.begin(), block_table_.end(), kNullBlock);
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    const std::span<const std::int32_t> row = table.row(req_idx);
    std::copy(row.begin(), row.end(), block_table_.begin() + req_idx * limits_.max_blocks_per_req);
  }
}

CommonAttentionMetadata StepBuffers::read(const PaddedShape& recorded) const {
  require_in_range("num_tokens", recorded.num_tokens, 0, limits_.max_num_tokens);
  require_in_range("num_reqs", recorded.num_reqs, 0, limits_.max_num_reqs);
  CommonAttentionMetadata metadata;
  metadata.query_start_loc.assign(query_start_loc_.begin(),
                                  query_start_loc_.begin() + recorded.num_reqs + 1);
  metadata.seq_lens.assign(seq_lens_.begin(), seq_lens_.begin() + recorded.num_reqs);
  metadata.block_table = BlockTable::unused(recorded.num_reqs, limits_.max_blocks_per_req);
  std::copy_n(block_table_.begin(), metadata.block_table.entries.size(),
              metadata.block_table.entries.begin());
  metadata.slot_mapping.assign(slot_mapping_.begin(), slot_mapping_.begin() + recorded.num_tokens);
  return metadata;
}

}  // namespace pagelab
