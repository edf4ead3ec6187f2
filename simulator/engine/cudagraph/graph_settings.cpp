#include "simulator/engine/cudagraph/graph_settings.h"

#include "reference/contract/refuse.h"

namespace pagelab {

void require_sound_graph_settings(const std::vector<std::int64_t>& capture_sizes,
                                  std::int64_t uniform_decode_query_len,
                                  std::int64_t max_num_seqs) {
  if (uniform_decode_query_len < 1) {
    refuse("uniform_decode_query_len is {}; it must be at least 1.", uniform_decode_query_len);
  }
  if (max_num_seqs < 1) refuse("max_num_seqs is {}; it must be at least 1.", max_num_seqs);
  std::int64_t before = 0;
  for (const std::int64_t size : capture_sizes) {
    if (size <= before) {
      refuse("the capture sizes go from {} to {}; they must ascend, from at least 1.", before,
             size);
    }
    before = size;
  }
}

void require_sound_step(std::int64_t num_tokens, std::int64_t num_active_loras) {
  if (num_tokens < 1) refuse("num_tokens is {}; it must be at least 1.", num_tokens);
  if (num_active_loras < 0) {
    refuse("num_active_loras is {}; it must be at least 0.", num_active_loras);
  }
}

}  // namespace pagelab
