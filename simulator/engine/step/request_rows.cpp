#include "simulator/engine/step/request_rows.h"

#include "reference/contract/refuse.h"

namespace pagelab {

void RequestRows::replace(std::int64_t request_id, std::span<const std::int32_t> block_ids) {
  rows_[request_id].assign(block_ids.begin(), block_ids.end());
}

void RequestRows::append(std::int64_t request_id, std::span<const std::int32_t> new_block_ids) {
  const auto row = rows_.find(request_id);
  if (row == rows_.end()) {
    refuse(
        "request {} gets {} more blocks, but the worker does not know it. Was it announced as new?",
        request_id, new_block_ids.size());
  }
  row->second.insert(row->second.end(), new_block_ids.begin(), new_block_ids.end());
}

void RequestRows::remove(std::int64_t request_id) {
  if (rows_.erase(request_id) == 0) {
    refuse("request {} is to be removed, but the worker does not know it.", request_id);
  }
}

const std::vector<std::int32_t>& RequestRows::row(std::int64_t request_id) const {
  const auto row = rows_.find(request_id);
  if (row == rows_.end()) {
    refuse("request {} is scheduled, but the worker does not know it. Was it announced as new?",
           request_id);
  }
  return row->second;
}

}  // namespace pagelab
