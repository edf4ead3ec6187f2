#include "simulator/engine/cudagraph/graph_settings.h"

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {

void require_sound_graph_settings(const std::vector<std::int64_t>& capture_sizes,
                                  std::int64_t uniform_decode_query_len,
                                  std::int64_t max_num_seqs) {
  require_in_range("uniform_decode_query_len", uniform_decode_query_len, 1);
  require_in_range("max_num_seqs", max_num_seqs, 1);
  std::int64_t before = 0;
  if (!capture_sizes.empty()) {
    require_in_range("the largest capture size", capture_sizes.back(), 1, kMostTokens);
  }
  for (const std::int64_t size : capture_sizes) {
    if (size <= before) {
      refuse("the capture sizes go from {} to {}; they must ascend, from at least 1.", before,
             size);
    }
    before = size;
  }
}

void require_sound_step(std::int64_t num_tokens, std::int64_t num_active_loras) {
  require_in_range("num_tokens", num_tokens, 1, kMostTokens);
  require_in_range("num_active_loras", num_active_loras, 0);
}

}  // namespace pagelab
