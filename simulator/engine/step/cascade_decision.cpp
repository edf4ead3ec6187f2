#include "simulator/engine/step/cascade_decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

constexpr std::int64_t kLeastPrefix = 256;   // tokens
constexpr std::int64_t kLeastRequests = 8;   // requests
constexpr std::int64_t kTile = 128;          // queries, and keys, of one tile
constexpr std::int64_t kPartialElement = 4;  // bytes of a float32
// With these, no product below leaves an int64.
constexpr std::int64_t kMostHeads = 1'000;
constexpr std::int64_t kMostHeadSize = 1'000;
constexpr std::int64_t kMostRequests = 10'000;
constexpr std::int64_t kMostTokensOfARequest = 10'000'000;

std::int64_t ceil_div(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

void require_sound(const CascadeSetting& setting) {
  require_in_range("num_query_heads", setting.num_query_heads, 1, kMostHeads);
  require_in_range("num_kv_heads", setting.num_kv_heads, 1, kMostHeads);
  if (setting.num_query_heads % setting.num_kv_heads != 0) {
    refuse("num_query_heads is {}, which {} KV heads do not divide.", setting.num_query_heads,
           setting.num_kv_heads);
  }
  require_in_range("num_sms", setting.num_sms, 1);
  require_in_range("dcp_world_size", setting.dcp_world_size, 1);
}

CascadeDecision no(const std::string& reason) { return {false, reason}; }

// Which of the two keeps the GPU's multiprocessors filled fewer times.
CascadeDecision compared(std::int64_t common_prefix_len,
                         std::int64_t num_reqs,
                         const CascadeSetting& setting) {
  const std::int64_t heads_per_kv_head = setting.num_query_heads / setting.num_kv_heads;
  const std::int64_t key_tiles = ceil_div(common_prefix_len, kTile);
  const std::int64_t cascade_units = setting.num_query_heads * ceil_div(num_reqs, kTile);
  const std::int64_t cascade_waves = ceil_div(cascade_units, setting.num_sms) * key_tiles;
  const std::int64_t decode_units =
      num_reqs * setting.num_kv_heads * ceil_div(heads_per_kv_head, kTile) * key_tiles;
  const std::int64_t decode_waves = ceil_div(decode_units, setting.num_sms);
  const bool use = cascade_waves < decode_waves;
  return {use,
          fmt::format("cascade takes {} waves on {} SMs, and FlashDecoding {}.", cascade_waves,
                      setting.num_sms, decode_waves),
          cascade_waves, decode_waves};
}

}  // namespace

CascadeDecision flash_attn_cascade_decision(std::int64_t common_prefix_len,
                                            const std::vector<std::int64_t>& query_lens,
                                            const CascadeSetting& setting) {
  require_in_range("common_prefix_len", common_prefix_len, 0, kMostTokens);
  require_sound(setting);
  for (const std::int64_t query_len : query_lens)
    require_in_range("a query length", query_len, 1, kMostTokens);

  if (common_prefix_len < kLeastPrefix) {
    return no(fmt::format("the common prefix has {} tokens, fewer than {}.", common_prefix_len,
                          kLeastPrefix));
  }
  if (setting.use_alibi) return no("the layer uses ALiBi.");
  if (setting.use_sliding_window) return no("the layer has a sliding window.");
  if (setting.use_local_attention) return no("the layer uses local attention.");
  const auto num_reqs = static_cast<std::int64_t>(query_lens.size());
  if (num_reqs < kLeastRequests) {
    return no(fmt::format("there {} {} request{}, fewer than {}.", num_reqs == 1 ? "is" : "are",
                          num_reqs, num_reqs == 1 ? "" : "s", kLeastRequests));
  }
  if (setting.dcp_world_size > 1) return no("several ranks share each request's tokens.");

  // Otherwise plain FlashAttention would run without cascade, and read the prefix once a request.
  const bool would_use_flash_decoding = setting.num_query_heads > setting.num_kv_heads &&
                                        std::all_of(query_lens.begin(), query_lens.end(),
                                                    [](auto query_len) { return query_len == 1; });
  if (!would_use_flash_decoding) return {true, "FlashDecoding is no alternative."};
  return compared(common_prefix_len, num_reqs, setting);
}

bool use_cascade_attention(std::int64_t common_prefix_len,
                           const std::vector<std::int64_t>& query_lens,
                           const CascadeSetting& setting) {
  return flash_attn_cascade_decision(common_prefix_len, query_lens, setting).use;
}

std::int64_t cascade_prefix_len(std::int64_t num_common_prefix_blocks,
                                std::int64_t block_size,
                                const std::vector<ScheduledRequest>& requests,
                                const CascadeSetting& setting) {
  require_in_range("num_common_prefix_blocks", num_common_prefix_blocks, 0, kMostTokens);
  require_in_range("block_size", block_size, 1);
  require_sound(requests);

  std::int64_t prefix_len = num_common_prefix_blocks * block_size;
  std::vector<std::int64_t> query_lens;
  for (const ScheduledRequest& request : requests) {
    prefix_len = std::min(prefix_len, request.num_computed_tokens);
    query_lens.push_back(request.num_scheduled_tokens);
  }
  prefix_len -= prefix_len % block_size;
  return use_cascade_attention(prefix_len, query_lens, setting) ? prefix_len : 0;
}

std::int64_t common_prefix_blocks(const std::vector<std::vector<std::int32_t>>& rows) {
  if (rows.empty()) return 0;
  const std::vector<std::int32_t>& first = rows.front();
  std::size_t num_common = first.size();
  for (const std::vector<std::int32_t>& row : rows) {
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(std::min(num_common, row.size()));
    const auto differs = std::mismatch(first.begin(), end, row.begin()).first;
    num_common = static_cast<std::size_t>(differs - first.begin());
  }
  return static_cast<std::int64_t>(num_common);
}

CascadeTraffic cascade_traffic(std::int64_t num_reqs,
                               std::int64_t prefix_len,
                               std::int64_t own_len,
                               const CascadeSetting& setting,
                               std::int64_t head_size,
                               std::int64_t element_size) {
  require_in_range("num_reqs", num_reqs, 0, kMostRequests);
  require_in_range("prefix_len", prefix_len, 0, kMostTokensOfARequest);
  require_in_range("own_len", own_len, 0, kMostTokensOfARequest);
  require_sound(setting);
  require_in_range("head_size", head_size, 1, kMostHeadSize);
  require_in_range("element_size", element_size, 1, 8);

  const std::int64_t bytes_per_token = 2 * setting.num_kv_heads * head_size * element_size;
  // Written by two passes, and read twice by the merge.
  const std::int64_t partial = setting.num_query_heads * (head_size + 1) * kPartialElement;
  CascadeTraffic traffic;
  traffic.flat_bytes = num_reqs * (prefix_len + own_len) * bytes_per_token;
  traffic.cascade_bytes =
      (prefix_len + num_reqs * own_len) * bytes_per_token + 4 * num_reqs * partial;
  return traffic;
}

}  // namespace pagelab
