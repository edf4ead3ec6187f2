// Wrong in task 3: a decode behind a prefill is counted as well, but each part is a slice.
// Everything else is the solution's.
#pragma once

#define split_decodes_and_prefills right_split_decodes_and_prefills
#include "lessons/09_what_a_backend_provides/solution.h"
#undef split_decodes_and_prefills

namespace pagelab::lesson_09 {

inline BatchSplit split_decodes_and_prefills(const CommonAttentionMetadata& common,
                                             std::int64_t decode_threshold) {
  BatchSplit split;
  for (std::int64_t req_idx = 0; req_idx < common.num_reqs(); ++req_idx) {
    const std::int64_t query_len = common.query_len(req_idx);
    const bool is_decode = query_len <= decode_threshold;
    (is_decode ? split.num_decodes : split.num_prefills) += 1;
    (is_decode ? split.num_decode_tokens : split.num_prefill_tokens) += query_len;
  }
  return split;
}

}  // namespace pagelab::lesson_09
