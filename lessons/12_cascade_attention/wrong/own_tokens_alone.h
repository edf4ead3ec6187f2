// Wrong in task 4: the prefix is left out.
// Everything else is the solution's.
#pragma once

#define cascade_attention right_cascade_attention
#include "lessons/12_cascade_attention/solution.h"
#undef cascade_attention

namespace pagelab::lesson_12 {

inline std::vector<Row> cascade_attention(const std::vector<Decode>& batch,
                                          const PagedCache& cache,
                                          int prefix_len) {
  std::vector<Row> outputs;
  for (const Decode& decode : batch) {
    std::vector<KeyValue> own;
    for (int i = prefix_len; i < decode.seq_len; ++i) own.push_back(cache.at(decode.table, i));
    outputs.push_back(attend(decode.query, own).output);
  }
  return outputs;
}

}  // namespace pagelab::lesson_12
