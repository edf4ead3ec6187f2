#include "simulator/engine/cache/kv_cache_manager.h"

#include <doctest/doctest.h>

#include <numeric>

#include "reference/contract/error.h"

using namespace pagelab;

namespace {

using Blocks = std::vector<BlockId>;

KVCacheConfig small_cache(std::int32_t block_size, std::int32_t num_usable_blocks) {
  KVCacheConfig config;
  config.block_size = block_size;
  config.num_blocks = num_usable_blocks + 1;  // the null block
  config.max_model_len = 256;
  config.max_in_flight_tokens = 64;
  return config;
}

std::vector<TokenId> counted_tokens(TokenId first, std::int32_t count) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Request make_request(KVCacheManager& manager,
                     std::vector<TokenId> prompt,
                     const CacheIdentity& identity = {}) {
  Request request(0, std::move(prompt), 8);
  request.identity = identity;
  manager.hash_full_blocks(request);
  return request;
}

// Looks up, admits and computes the whole prompt. Returns the hit in tokens.
std::int32_t admit(KVCacheManager& manager, Request& request) {
  const PrefixHit hit = manager.get_computed_blocks(request);
  SlotsWanted wanted;
  wanted.num_new_tokens = request.num_tokens() - hit.num_tokens;
  REQUIRE(manager.allocate_slots(request, wanted, &hit));
  request.num_computed_tokens = request.num_tokens();
  request.status = RequestStatus::kRunning;
  return hit.num_tokens;
}

std::int32_t admit_and_free(KVCacheManager& manager, Request request) {
  const std::int32_t num_hit = admit(manager, request);
  manager.free(request);
  return num_hit;
}

}  // namespace

TEST_SUITE("the KV cache manager") {
  TEST_CASE("E1: a prompt that is cached to its last token computes its last block again") {
    KVCacheManager manager(small_cache(4, 8));
    const std::vector<TokenId> prompt = counted_tokens(0, 8);
    CHECK(admit_and_free(manager, make_request(manager, prompt)) == 0);
    // Both blocks are cached, but the last token's output is wanted: one block is hit.
    CHECK(admit_and_free(manager, make_request(manager, prompt)) == 4);
    // One token more, and both are.
    CHECK(admit_and_free(manager, make_request(manager, counted_tokens(0, 9))) == 8);
  }

  TEST_CASE("E2: contents are compared in full so that a hash of 1 for all gives no wrong hit") {
    KVCacheManager manager(small_cache(4, 8),
                           [](const BlockContent&) -> std::uint64_t { return 1; });
    admit_and_free(manager, make_request(manager, {1, 2, 3, 4, 0}));
    CHECK(admit_and_free(manager, make_request(manager, {5, 6, 7, 8, 0})) == 0);
    CHECK(admit_and_free(manager, make_request(manager, {1, 2, 3, 4, 0})) == 4);
    CHECK(admit_and_free(manager, make_request(manager, {9, 10, 11, 12, 0})) == 0);
    CHECK(admit_and_free(manager, make_request(manager, {5, 6, 7, 8, 0})) == 4);
    CHECK(admit_and_free(manager, make_request(manager, {9, 10, 11, 12, 0})) == 4);
    // Equal tokens after another parent are another prefix.
    admit_and_free(manager, make_request(manager, {5, 6, 7, 8, 1, 2, 3, 4, 0}));
    CHECK(admit_and_free(manager, make_request(manager, {1, 2, 3, 4, 1, 2, 3, 4, 0})) == 4);
  }

  TEST_CASE("E3: an adapter or a salt or an image is part of the key") {
    const std::vector<TokenId> prompt = counted_tokens(0, 33);
    CacheIdentity adapter_a, adapter_b, other_path, salted, image_in_second_block, same_image_later;
    adapter_a.lora_name = "A";
    adapter_b.lora_name = "B";
    other_path = adapter_a;
    other_path.lora_path = "/elsewhere";
    salted.cache_salt = "tenant";
    image_in_second_block.items = {{"cat", 18, 4}};
    same_image_later.items = {{"cat", 19, 4}};
    KVCacheManager manager(small_cache(16, 32));
    for (const CacheIdentity& identity :
         {CacheIdentity(), adapter_a, adapter_b, other_path, salted}) {
      CHECK(admit_and_free(manager, make_request(manager, prompt, identity)) == 0);
      CHECK(admit_and_free(manager, make_request(manager, prompt, identity)) == 32);
    }
    // Before the image, tokens decide: one block of the plain prompt is hit.
    CHECK(admit_and_free(manager, make_request(manager, prompt, image_in_second_block)) == 16);
    CHECK(admit_and_free(manager, make_request(manager, prompt, image_in_second_block)) == 32);
    CHECK(admit_and_free(manager, make_request(manager, prompt, same_image_later)) == 16);
  }

  TEST_CASE("E3: parts of an identity that join to one text are kept apart") {
    CacheIdentity one, other;
    one.lora_name = "a1:b";
    other.lora_name = "a";
    other.lora_path = "b";
    CHECK(extra_key_text(one, 0, 16) != extra_key_text(other, 0, 16));
    CHECK(extra_key_text({}, 0, 16).empty());
  }

  TEST_CASE("E6: the tail of a finished request is evicted and its head can still be hit") {
    KVCacheManager manager(small_cache(4, 3));
    for (int repetition = 0; repetition < 200; ++repetition) {
      Request request = make_request(manager, counted_tokens(0, 12));
      admit(manager, request);
      const Blocks blocks = request.groups[0].blocks;
      manager.free(request);
      Request other = make_request(manager, {1000 + repetition});
      admit(manager, other);
      CHECK(other.groups[0].blocks == Blocks{blocks[2]});
      CHECK(manager.get_computed_blocks(make_request(manager, counted_tokens(0, 12))).num_tokens ==
            8);
      manager.free(other);
    }
  }

  TEST_CASE("E8: no request gets more blocks than the longest request fills") {
    KVCacheConfig config = small_cache(16, 16);
    config.max_model_len = 64;
    KVCacheManager manager(config);
    Request request = make_request(manager, counted_tokens(0, 60));
    admit(manager, request);
    SlotsWanted wanted;
    wanted.num_new_tokens = 4;
    wanted.num_lookahead_tokens = 32;  // two blocks ahead
    REQUIRE(manager.allocate_slots(request, wanted));
    CHECK(request.groups[0].blocks.size() == 4);
  }

  TEST_CASE("groups of different block sizes hit what is whole blocks in all of them") {
    // Full attention in blocks of 4, a window of 3 keys in blocks of 2: stretches of 4 tokens.
    KVCacheConfig config = small_cache(4, 12);
    config.groups = {{}, {3, 2}};
    CHECK(hash_block_size(config) == 2);
    CHECK(scheduler_block_size(config) == 4);
    CHECK(block_sizes_text(config) == "4/2");
    KVCacheManager manager(config);
    Request first = make_request(manager, counted_tokens(0, 11));
    CHECK(first.block_hashes.size() == 5);
    CHECK(admit(manager, first) == 0);
    // 11 tokens are 3 blocks of 4, and 6 of 2; the groups take theirs one after the other.
    CHECK(first.groups[0].blocks == Blocks{1, 2, 3});
    CHECK(first.groups[1].blocks == Blocks{4, 5, 6, 7, 8, 9});
    // 8 tokens are whole stretches: two keys for full attention. A query behind a stretch looks back 2 tokens, one
    // block: blocks 5 and 7 have keys, and 4 and 6 have none.
    CHECK(manager.pool().num_cached_keys() == 4);
    CHECK(manager.pool().block(5).prefix != kNoPrefix);
    CHECK(manager.pool().block(6).prefix == kNoPrefix);
    manager.free(first);

    Request again = make_request(manager, counted_tokens(0, 11));
    PrefixHit hit = manager.get_computed_blocks(again);
    CHECK(hit.num_tokens == 8);
    CHECK(hit.blocks == std::vector<Blocks>{{1, 2}, {0, 0, 0, 7}});
    SlotsWanted wanted;
    wanted.num_new_tokens = 3;
    // One block of 4 and two of 2 for the tokens 8 to 10.
    CHECK(manager.allocate_slots(again, wanted, &hit) == 3);
    CHECK(again.groups[0].num_new_blocks == 1);
    CHECK(again.groups[1].num_new_blocks == 2);
    manager.free(again);

    // Without block 7 the window has nothing at 8 tokens, and block 5 at 4.
    manager.evict_blocks(Blocks{7});
    hit = manager.get_computed_blocks(again);
    CHECK(hit.num_tokens == 4);
    CHECK(hit.blocks == std::vector<Blocks>{{1}, {0, 5}});
  }

  TEST_CASE("block sizes without a small common multiple are refused in one sentence") {
    KVCacheConfig config = small_cache(4, 12);
    config.groups = {{{}, 99991}, {{}, 99989}};  // primes
    CHECK_THROWS_AS(KVCacheManager{config}, Error);
    config.groups = {{{}, 0}};
    CHECK_THROWS_AS(KVCacheManager{config}, Error);
  }

  TEST_CASE("E13: prefixes are shared in whole blocks only") {
    KVCacheManager manager(small_cache(3, 8));
    admit_and_free(manager, make_request(manager, {1, 2, 3, 4, 5, 6}));
    CHECK(admit_and_free(manager, make_request(manager, {1, 2, 9, 9})) == 0);
    CHECK(admit_and_free(manager, make_request(manager, {1, 2, 3, 4, 9})) == 3);
  }

  TEST_CASE("C3: tables that differ have no common prefix whatever the references count") {
    KVCacheManager manager(small_cache(4, 64));
    std::vector<Request> sharing, others;
    for (int index = 0; index < 8; ++index) {
      sharing.push_back(make_request(manager, counted_tokens(0, 9)));
      admit(manager, sharing.back());
    }
    for (int index = 0; index < 7; ++index) {
      others.push_back(make_request(manager, counted_tokens(1000 + 100 * index, 9)));
      admit(manager, others.back());
    }
    // The first seven of the eight finish, but their blocks are held: 15 requests with blocks, 8 run.
    std::vector<const Request*> survivors = {&sharing[7]};
    for (const Request& request : others) survivors.push_back(&request);
    const BlockId shared = sharing[7].groups[0].blocks[0];
    CHECK(manager.pool().block(shared).ref_cnt == static_cast<int>(survivors.size()));
    CHECK(common_prefix_by_tables(survivors) == 0);
    CHECK(manager.get_num_common_prefix_blocks(sharing[7]) == 0);
    std::vector<const Request*> all_eight;
    for (const Request& request : sharing) all_eight.push_back(&request);
    CHECK(common_prefix_by_tables(all_eight) == 2);
    CHECK(common_prefix_by_tables({}) == 0);
  }

  TEST_CASE("an admission leaves the watermark free for others but not if nobody runs") {
    KVCacheConfig config = small_cache(4, 9);
    config.watermark = 0.2;  // of 10 blocks
    KVCacheManager manager(config);
    Request request = make_request(manager, counted_tokens(0, 32));  // 8 of the 9 free blocks
    SlotsWanted wanted;
    wanted.num_new_tokens = 32;
    CHECK_FALSE(manager.allocate_slots(request, wanted));
    CHECK(manager.pool().num_free_blocks() == 9);
    wanted.has_scheduled_reqs = false;
    CHECK(manager.allocate_slots(request, wanted) == 8);
  }

  TEST_CASE("a window of five keys keeps the blocks that the next query sees") {
    KVCacheConfig config = small_cache(2, 16);
    config.groups = {{5}};
    KVCacheManager manager(config);
    Request request = make_request(manager, counted_tokens(0, 12));
    admit(manager, request);
    // The query at 12 sees 8 … 12: positions 0 … 7, four blocks, are free again.
    manager.remove_skipped_blocks(request, 12);
    CHECK(request.groups[0].blocks == Blocks{0, 0, 0, 0, 5, 6});
    CHECK(manager.pool().num_free_blocks() == 14);
    manager.remove_skipped_blocks(request, 12);
    CHECK(manager.pool().num_free_blocks() == 14);
    // Two blocks in a row give the four keys before the next query; what lies before may be lost.
    manager.evict_blocks(Blocks{1, 2, 3});
    CHECK(manager.get_computed_blocks(make_request(manager, counted_tokens(0, 13))).blocks[0] ==
          Blocks{0, 0, 0, 0, 5, 6});
    manager.evict_blocks(Blocks{5});
    CHECK(manager.get_computed_blocks(make_request(manager, counted_tokens(0, 13))).num_tokens ==
          0);
  }

  TEST_CASE("windows of two sizes shorten the hit until both have what they need") {
    KVCacheConfig config = small_cache(1, 64);
    config.groups = {{std::nullopt}, {3}, {2}};
    KVCacheManager manager(config);
    Request request = make_request(manager, counted_tokens(0, 6));
    admit(manager, request);
    // Window 3 needs two blocks in a row, window 2 one. Without block 3 of window 3 and blocks 1 and
    // 4 of window 2: up to five blocks, window 3 ends with 1 2, so 3; window 2 has block 2, and 3 stays.
    const auto of = [&](int group, int block) { return request.groups[group].blocks[block]; };
    manager.evict_blocks(Blocks{of(1, 3), of(2, 1), of(2, 4)});
    CHECK(manager.get_computed_blocks(make_request(manager, counted_tokens(0, 6))).num_tokens == 3);
    // Without block 2 of window 2 it ends at 1, and there window 3 needs no more than block 0.
    manager.evict_blocks(Blocks{of(2, 2)});
    const PrefixHit hit = manager.get_computed_blocks(make_request(manager, counted_tokens(0, 6)));
    CHECK(hit.num_tokens == 1);
    for (int group = 0; group < 3; ++group) CHECK(hit.blocks[group] == Blocks{of(group, 0)});
  }

  TEST_CASE("settings and requests out of range are refused in one sentence") {
    const auto refused = [](const auto& change, const char* sentence) {
      KVCacheConfig config = small_cache(4, 4);
      change(config);
      CHECK_THROWS_WITH_AS(KVCacheManager{config}, sentence, Error);
    };
    refused([](KVCacheConfig& config) { config.block_size = 0; },
            "block_size is 0; it must be at least 1.");
    refused([](KVCacheConfig& config) { config.num_blocks = 1; },
            "num_blocks is 1; it must be at least 2, because the null block takes one.");
    refused([](KVCacheConfig& config) { config.watermark = 1; },
            "watermark is 1; it is a share of the pool, from 0 to less than 1.");
    refused([](KVCacheConfig& config) { config.groups.clear(); },
            "groups is empty; a cache has at least one group.");
    refused([](KVCacheConfig& config) { config.groups = {{0}}; },
            "sliding_window is 0; it must be at least 1.");
    CHECK_THROWS_WITH_AS(Request(7, {}, 1),
                         "request 7 has an empty prompt; it needs at least one token.", Error);
    CHECK_THROWS_WITH_AS(Request(7, {1}, 0),
                         "request 7 has max_tokens 0; it must be from 1 to 1000000000.", Error);
    KVCacheManager manager(small_cache(4, 4));
    Request request = make_request(manager, {1});
    CHECK_THROWS_WITH_AS(
        manager.allocate_slots(request, {}),
        "request 0 wants slots for 0 tokens; it must want at least 1, having no hit "
        "to adopt.",
        Error);
  }
}
