/// \file
/// The worker's block ids. The scheduler sends only what is new: for a running request the blocks it just got, for a
/// new or resumed one all of them. Confusing the two joins a request's old blocks with its new ones.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace pagelab {

/// The block ids of every request that the worker knows, in logical order.
/// \source vLLM v1/worker/block_table.py, BlockTable
class RequestRows {
 public:
  /// A new request, or one that resumes after preemption: these are all its blocks.
  void replace(std::int64_t request_id, std::span<const std::int32_t> block_ids);
  /// A running request: these come after those that it has. \throws Error if it is not known
  void append(std::int64_t request_id, std::span<const std::int32_t> new_block_ids);
  /// A finished or preempted request. \throws Error if it is not known
  void remove(std::int64_t request_id);

  /// A request's blocks. \throws Error if it is not known
  const std::vector<std::int32_t>& row(std::int64_t request_id) const;

 private:
  std::map<std::int64_t, std::vector<std::int32_t>> rows_;
};

}  // namespace pagelab
