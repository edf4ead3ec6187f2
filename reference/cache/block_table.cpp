#include "reference/cache/block_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pagelab {

BlockTable BlockTable::unused(std::int64_t num_reqs, std::int64_t max_blocks_per_req) {
  BlockTable table;
  table.num_reqs = num_reqs;
  table.max_blocks_per_req = max_blocks_per_req;
  table.entries.assign(static_cast<std::size_t>(num_reqs * max_blocks_per_req), kNoBlock);
  return table;
}

BlockTable BlockTable::from_rows(const std::vector<std::vector<std::int32_t>>& rows) {
  std::size_t longest = 0;
  for (const std::vector<std::int32_t>& row : rows) longest = std::max(longest, row.size());
  BlockTable table = unused(static_cast<std::int64_t>(rows.size()),  //
                            static_cast<std::int64_t>(longest));
  for (std::size_t req_idx = 0; req_idx < rows.size(); ++req_idx) {
    std::copy(rows[req_idx].begin(), rows[req_idx].end(),
              table.row(static_cast<std::int64_t>(req_idx)).begin());
  }
  return table;
}

std::span<std::int32_t> BlockTable::row(std::int64_t req_idx) {
  return std::span(entries).subspan(static_cast<std::size_t>(req_idx * max_blocks_per_req),
                                    static_cast<std::size_t>(max_blocks_per_req));
}

std::span<const std::int32_t> BlockTable::row(std::int64_t req_idx) const {
  return std::span(entries).subspan(static_cast<std::size_t>(req_idx * max_blocks_per_req),
                                    static_cast<std::size_t>(max_blocks_per_req));
}

std::string to_string(std::span<const std::int32_t> row) {
  std::size_t used = row.size();
  while (used > 0 && row[used - 1] == kNoBlock) --used;
  return fmt::format("[{}]", fmt::join(row.first(used), " "));
}

std::string to_string(const BlockTable& table) {
  std::string text;
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    text += fmt::format("{}request {}: {}", req_idx == 0 ? "" : "\n", req_idx,
                        to_string(table.row(req_idx)));
  }
  return text;
}

}  // namespace pagelab
