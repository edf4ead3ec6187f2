#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "simulator/engine/step/cascade_decision.h"

using namespace pagelab;

namespace {

const CascadeSetting kLlama8b = {.num_query_heads = 32, .num_kv_heads = 8};

std::vector<std::int64_t> decodes(std::size_t num_reqs) {
  return std::vector<std::int64_t>(num_reqs, 1);
}

}  // namespace

TEST_SUITE("cascade decision") {
  TEST_CASE("S1: a shared prefix pays in bytes where it is long and often shared") {
    // Eight requests, 1024 tokens in common, 16 of their own; 4096 bytes a token, 16512 a partial result.
    const CascadeTraffic large = cascade_traffic(8, 1024, 16, kLlama8b, 128, 2);
    CHECK(large.flat_bytes == 8 * (1024 + 16) * 4096);
    CHECK(large.cascade_bytes == (1024 + 8 * 16) * 4096 + 4 * 8 * 16512);
    CHECK(large.cascade_bytes < large.flat_bytes);
    const CascadeTraffic small = cascade_traffic(2, 32, 16, kLlama8b, 128, 2);
    CHECK(small.cascade_bytes > small.flat_bytes);
  }

  TEST_CASE("S1: vLLM's rule may say no where the bytes say yes") {
    // cascade ceil(32 · 1 / 132) · 8 = 8 waves; decode ceil(8 · 8 · 1 · 8 / 132) = ceil(512 / 132) = 4.
    const CascadeDecision decision = flash_attn_cascade_decision(1024, decodes(8), kLlama8b);
    CHECK_FALSE(decision.use);
    CHECK(decision.cascade_waves == 8);
    CHECK(decision.decode_waves == 4);
    CHECK(decision.reason == "cascade takes 8 waves on 132 SMs, and FlashDecoding 4.");
  }

  TEST_CASE("many requests make cascade pay") {
    // cascade ceil(32 · 1 / 132) · 64 = 64; decode ceil(64 · 8 · 64 / 132) = ceil(248.2) = 249.
    const CascadeDecision decision = flash_attn_cascade_decision(8192, decodes(64), kLlama8b);
    CHECK(decision.use);
    CHECK(decision.cascade_waves == 64);
    CHECK(decision.decode_waves == 249);
  }

  TEST_CASE("each thing that rules cascade out is named") {
    const auto reason = [](std::int64_t prefix, std::size_t num_reqs, CascadeSetting setting) {
      const CascadeDecision decision =
          flash_attn_cascade_decision(prefix, std::vector<std::int64_t>(num_reqs, 2), setting);
      return (decision.use ? "yes: " : "no: ") + decision.reason;
    };
    CHECK(reason(255, 8, kLlama8b) == "no: the common prefix has 255 tokens, fewer than 256.");
    CHECK(reason(256, 7, kLlama8b) == "no: there are 7 requests, fewer than 8.");
    CHECK(reason(256, 8, kLlama8b) == "yes: FlashDecoding is no alternative.");
    CascadeSetting setting = kLlama8b;
    setting.dcp_world_size = 2;
    CHECK(reason(256, 8, setting) == "no: several ranks share each request's tokens.");
    setting.use_local_attention = true;
    CHECK(reason(256, 8, setting) == "no: the layer uses local attention.");
    setting.use_sliding_window = true;
    CHECK(reason(256, 8, setting) == "no: the layer has a sliding window.");
    setting.use_alibi = true;
    CHECK(reason(256, 8, setting) == "no: the layer uses ALiBi.");
  }

  TEST_CASE("the prefix leaves every request a suffix and ends with a block") {
    // 40 blocks of 16 are 640 tokens, but one request has computed only 600: 37 blocks, 592 tokens.
    std::vector<ScheduledRequest> requests(8,
                                           {.num_scheduled_tokens = 2, .num_computed_tokens = 700});
    CHECK(cascade_prefix_len(40, 16, requests, kLlama8b) == 640);
    requests[5].num_computed_tokens = 600;
    CHECK(cascade_prefix_len(40, 16, requests, kLlama8b) == 592);
    requests[5].num_computed_tokens = 255;
    CHECK(cascade_prefix_len(40, 16, requests, kLlama8b) == 0);
  }

  TEST_CASE("C3: the survivors' block tables share nothing") {
    // One survivor of prefix A, whose blocks 1 and 2 seven finished requests still hold, and seven others.
    std::vector<std::vector<std::int32_t>> rows = {{1, 2, 20}};
    for (std::int32_t req_idx = 0; req_idx < 7; ++req_idx)
      rows.push_back({3 + req_idx, 30 + req_idx});
    CHECK(common_prefix_blocks(rows) == 0);
    CHECK(common_prefix_blocks({{1, 2, 20}, {1, 2, 21}, {1, 2}}) == 2);
    CHECK(common_prefix_blocks({{1, 2, 20}, {1, 5, 20}}) == 1);
    CHECK(common_prefix_blocks({}) == 0);
  }

  TEST_CASE("numbers out of range are refused") {
    CHECK_THROWS_WITH_AS(use_cascade_attention(-1, decodes(8), kLlama8b),
                         "common_prefix_len is -1; it must be at least 0.", Error);
    CHECK_THROWS_WITH_AS(
        use_cascade_attention(512, decodes(8), {.num_query_heads = 32, .num_kv_heads = 5}),
        "num_query_heads is 32, which 5 KV heads do not divide.", Error);
    CHECK_THROWS_WITH_AS(cascade_prefix_len(4, 0, {}, kLlama8b),
                         "block_size is 0; it must be at least 1.", Error);
  }
}
