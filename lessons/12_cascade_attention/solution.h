// Lesson 12, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lessons/12_cascade_attention/decodes.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_12 {

using lessons::NotSolved;

inline std::vector<int> right_counts() {
  return {
      2,  // the count of references is right
      0,  // 6 and 1 have three users, and only one of them is in this batch
      3,  // alone, all is common; whether it pays is another question
      3,  // all that hold blocks share these, so those in the batch do, too
      1,  // equal keys, but two blocks: a kernel reads addresses
      2,  // the shortest table has no more
  };
}

inline int cascade_prefix_len(const std::vector<std::vector<int>>& tables,
                              const std::vector<int>& num_computed_tokens,
                              int block_size) {
  std::size_t num_common = tables[0].size();
  for (const std::vector<int>& table : tables) {
    num_common = std::min(num_common, table.size());
    const auto end = tables[0].begin() + num_common;
    num_common = std::mismatch(tables[0].begin(), end, table.begin()).first - tables[0].begin();
  }
  // The prefix part has no mask, so no key of it may come after a query.
  const int least_computed = *std::ranges::min_element(num_computed_tokens);
  const int prefix_len = std::min(static_cast<int>(num_common) * block_size, least_computed);
  return prefix_len / block_size * block_size;
}

inline State merge(const StateBase2& prefix, const State& suffix) {
  const double prefix_lse = prefix.lse_base_2 * std::log(2.0);  // ln x = log2 x · ln 2
  const double m = std::max(prefix_lse, suffix.lse);
  State merged = {Row(suffix.output.size(), 0.0), m};
  if (std::isinf(m)) return merged;  // no tokens on either side: −∞ minus −∞ would be NaN
  const double prefix_weight = std::exp(prefix_lse - m);
  const double suffix_weight = std::exp(suffix.lse - m);
  const double sum = prefix_weight + suffix_weight;
  for (std::size_t d = 0; d < merged.output.size(); ++d) {
    // What a side without tokens holds is not even multiplied by 0: it may be NaN.
    if (prefix_weight > 0) merged.output[d] += prefix_weight / sum * prefix.output[d];
    if (suffix_weight > 0) merged.output[d] += suffix_weight / sum * suffix.output[d];
  }
  merged.lse = m + std::log(sum);
  return merged;
}

inline std::vector<Row> cascade_attention(const std::vector<Decode>& batch,
                                          const PagedCache& cache,
                                          int prefix_len) {
  // Whose table is asked does not matter: as far as the prefix goes, they are the same.
  std::vector<KeyValue> prefix;
  for (int i = 0; i < prefix_len; ++i) prefix.push_back(cache.at(batch[0].table, i));

  std::vector<Row> outputs;
  for (const Decode& decode : batch) {
    std::vector<KeyValue> own;
    for (int i = prefix_len; i < decode.seq_len; ++i) own.push_back(cache.at(decode.table, i));
    const StateBase2 over_prefix = attend_base_2(decode.query, prefix);
    const State over_own = attend(decode.query, own);
    outputs.push_back(merge(over_prefix, over_own).output);
  }
  return outputs;
}

inline std::optional<int> least_requests(const Layer& layer,
                                         const Gpu& gpu,
                                         int prefix_len,
                                         int own_len) {
  const double token_bytes = 2.0 * layer.num_kv_heads * layer.head_size * layer.element_size;
  const double partial_bytes = 4.0 * layer.num_query_heads * (layer.head_size + 1);
  // Bytes that come with each request. What is its own is read either way, and will cancel.
  const double per_request_flat = (prefix_len + own_len) * token_bytes;
  const double per_request_cascade = own_len * token_bytes + 4 * partial_bytes;
  const double gain_per_request = per_request_flat - per_request_cascade;
  if (gain_per_request <= 0) return std::nullopt;
  // What a cascade has to earn: the prefix, read once, and its launches, as bytes that could have been moved.
  const double to_earn =
      prefix_len * token_bytes + (gpu.cascade_us - gpu.flat_us) * gpu.bytes_per_us;
  return std::max(1, static_cast<int>(std::floor(to_earn / gain_per_request)) + 1);
}

}  // namespace pagelab::lesson_12
