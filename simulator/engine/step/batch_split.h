/// \file
/// Where a batch is cut. A backend with one kernel for decodes and another for prefills gives each its own stretch of
/// the reordered batch; where the cut lies depends on what its decode kernel can take.
#pragma once

#include <cstdint>
#include <vector>

namespace pagelab {

/// A row of a batch as backends get it, padding included.
struct BatchRow {
  std::int64_t query_len = 0;  ///< query tokens; 0: padding
  std::int64_t seq_len = 0;    ///< tokens in the cache after this step
  bool is_prefilling = false;  ///< part of its prompt was still to be computed
};

/// What a decode kernel can take.
struct SplitRule {
  std::int64_t decode_threshold = 1;           ///< up to so many query tokens a request
  bool require_uniform = false;                ///< and as many in each request, padding aside
  bool treat_short_extends_as_decodes = true;  ///< else what is still prefilling is no decode
};

/// A batch in two stretches: decodes, then prefills.
struct BatchSplit {
  std::int64_t num_decodes = 0;                        ///< requests of the first
  std::int64_t num_prefills = 0;                       ///< requests of the second
  std::int64_t num_decode_tokens = 0;                  ///< query tokens of the first
  std::int64_t num_prefill_tokens = 0;                 ///< query tokens of the second
  bool operator==(const BatchSplit&) const = default;  ///< field by field
};

/// Cuts a batch before its first prefill. Everything after that counts as prefill, whatever it is.
/// \param rows    decodes first, if anything is to be gained
/// \param rule    what the decode kernel can take
/// \throws Error  if the threshold is below 1, or a length is negative
/// \source        vLLM v1/attention/backends/utils.py, split_decodes_and_prefills
BatchSplit split_decodes_and_prefills(const std::vector<BatchRow>& rows, const SplitRule& rule);

/// A batch in three stretches: decodes, prompts that go on, and prompts that begin.
struct ThreeWaySplit {
  std::int64_t num_decodes = 0;                           ///< requests of the first
  std::int64_t num_extends = 0;                           ///< requests of the second
  std::int64_t num_prefills = 0;                          ///< requests of the third
  std::int64_t num_decode_tokens = 0;                     ///< query tokens of the first
  std::int64_t num_extend_tokens = 0;                     ///< query tokens of the second
  std::int64_t num_prefill_tokens = 0;                    ///< query tokens of the third
  bool operator==(const ThreeWaySplit&) const = default;  ///< field by field
};

/// Cuts a batch before its first long query and, after that, before the first one that has no context.
/// \param rows              in the order of reorder_batch_to_split_decodes_and_prefills
/// \param decode_threshold  up to so many query tokens are a decode
/// \throws Error            if the threshold is below 1, or a length is negative
/// \source                  vLLM v1/attention/backends/utils.py, split_decodes_prefills_and_extends
ThreeWaySplit split_decodes_prefills_and_extends(const std::vector<BatchRow>& rows,
                                                 std::int64_t decode_threshold);

}  // namespace pagelab
