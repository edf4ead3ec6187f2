#include "simulator/engine/step/batch_split.h"

#include <algorithm>

#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

using Row = std::vector<BatchRow>::const_iterator;

void require_sound(const std::vector<BatchRow>& rows, std::int64_t decode_threshold) {
  require_in_range("decode_threshold", decode_threshold, 1);
  for (const BatchRow& row : rows) {
    require_in_range("query_len", row.query_len, 0, kMostTokens);
    require_in_range("seq_len", row.seq_len, 0, kMostTokens);
  }
}

std::int64_t tokens_of(Row begin, Row end) {
  std::int64_t num_tokens = 0;
  for (Row row = begin; row != end; ++row) num_tokens += row->query_len;
  return num_tokens;
}

// The first row that the decode kernel cannot take; the end if it takes all.
Row first_prefill(const std::vector<BatchRow>& rows, const SplitRule& rule) {
  // Queries of at most one token are uniform, padding aside.
  const bool all_short = std::all_of(rows.begin(), rows.end(), [&rule](const BatchRow& row) {
    return row.query_len <= rule.decode_threshold;
  });
  const bool lengths_may_differ = !rule.require_uniform || rule.decode_threshold == 1;
  if (all_short && lengths_may_differ && rule.treat_short_extends_as_decodes) return rows.end();

  // A first row that is too long leaves no decodes, even where all rows are as long.
  if (rows.front().query_len > rule.decode_threshold) return rows.begin();

  const std::int64_t first_len = rows.front().query_len;
  return std::find_if(rows.begin(), rows.end(), [&](const BatchRow& row) {
    const bool wrong_len = rule.require_uniform ? row.query_len != first_len && row.query_len != 0
                                                : row.query_len > rule.decode_threshold;
    return wrong_len || (!rule.treat_short_extends_as_decodes && row.is_prefilling);
  });
}

}  // namespace

BatchSplit split_decodes_and_prefills(const std::vector<BatchRow>& rows, const SplitRule& rule) {
  require_sound(rows, rule.decode_threshold);
  if (rows.empty()) return {};
  const Row cut = first_prefill(rows, rule);
  return {cut - rows.begin(), rows.end() - cut, tokens_of(rows.begin(), cut),
          tokens_of(cut, rows.end())};
}

ThreeWaySplit split_decodes_prefills_and_extends(const std::vector<BatchRow>& rows,
                                                 std::int64_t decode_threshold) {
  require_sound(rows, decode_threshold);
  const auto is_long = [&](const BatchRow& row) { return row.query_len > decode_threshold; };
  const Row first_extend = std::find_if(rows.begin(), rows.end(), is_long);
  // Without context, the query is the whole sequence.
  const Row first_prefill = std::find_if(first_extend, rows.end(), [&](const BatchRow& row) {
    return is_long(row) && row.seq_len == row.query_len;
  });
  return {first_extend - rows.begin(),
          first_prefill - first_extend,
          rows.end() - first_prefill,
          tokens_of(rows.begin(), first_extend),
          tokens_of(first_extend, first_prefill),
          tokens_of(first_prefill, rows.end())};
}

}  // namespace pagelab
