#include "reference/contract/own_tokens.h"

#include <numeric>

namespace pagelab {

BlockTable table_of_own_tokens(const CommonAttentionMetadata& metadata) {
  BlockTable table = BlockTable::unused(metadata.num_reqs(), metadata.max_query_len());
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::span<std::int32_t> row = table.row(req_idx);
    const std::int32_t first_token = metadata.query_start_loc[req_idx];
    std::iota(row.begin(), row.begin() + metadata.query_len(req_idx), first_token);
  }
  return table;
}

}  // namespace pagelab
