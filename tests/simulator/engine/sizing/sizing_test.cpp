#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "simulator/engine/sizing/kv_cache_capacity.h"

using namespace pagelab;

namespace {

// Eight KV heads of 128 elements: 16 · 8 · 256 · 2 = 65536 bytes a page.
KVCacheSpec llama_layer() { return {.num_kv_heads = 8}; }

KVCacheSpec latent_layer(std::int64_t bytes_per_token, std::optional<std::int64_t> alignment) {
  return {.kind = KVCacheKind::kMla,
          .block_size = 64,
          .head_size = 576,
          .head_size_v = 0,
          .state_content_bytes = bytes_per_token,
          .alignment = alignment};
}

}  // namespace

TEST_SUITE("sizes of a cache") {
  TEST_CASE("Y6: a capacity is told in blocks and tokens and bytes with the formula") {
    const KVCacheCapacity capacity = capacity_for_tokens(10718, {{{llama_layer()}}}, 16);
    CHECK(capacity.num_blocks == 670);
    CHECK(capacity.num_tokens() == 10720);
    CHECK(to_string(capacity) ==
          "670 blocks of 16 tokens = 10720 tokens, 43909120 bytes: ceil(10718 tokens / 16) = 670");
    CHECK(to_string(capacity_of_memory(1000000, {{{llama_layer()}}}, 16)) ==
          "15 blocks of 16 tokens = 240 tokens, 983040 bytes: 1000000 bytes / 65536 a block = 15");
  }

  TEST_CASE("a block holds the pages of the largest group") {
    const UniformTypeKVCacheSpecs two = {{llama_layer(), llama_layer()}};
    const UniformTypeKVCacheSpecs one = {{llama_layer()}};
    CHECK(bytes_per_block({one, two, one}) == 2 * 65536);
  }

  TEST_CASE("memory for the null block alone is refused") {
    CHECK_THROWS_WITH_AS(
        capacity_of_memory(100000, {{{llama_layer()}}}, 16),
        "100000 bytes hold 1 blocks of 65536 bytes; the null block takes one, so 2 "
        "are the least.",
        Error);
    CHECK_THROWS_WITH_AS(bytes_per_block({}),
                         "the model has no layer with a cache; there is nothing to size.", Error);
    CHECK_THROWS_WITH_AS(capacity_for_tokens(0, {{{llama_layer()}}}, 16),
                         "num_tokens is 0; it must be at least 1.", Error);
  }

  TEST_CASE("packed latents have the bytes that their names say") {
    // 512 fp8 elements, 4 float32 scales and 64 bf16 elements: 512 + 16 + 128.
    CHECK(packed_latents()[0].bytes_per_token == 656);
    CHECK(real_page_size_bytes(latent_layer(656, {})) == 64 * 656);
    // DeepSeek V4: 64 · 584 = 37376, rounded up to 65 · 576.
    const PackedLatent& v4 = packed_latents()[2];
    CHECK(page_size_bytes(latent_layer(v4.bytes_per_token, v4.alignment)) == 37440);
  }

  TEST_CASE("layers share blocks if only their sizes differ") {
    KVCacheSpec wide = llama_layer();
    wide.head_size = 256;
    KVCacheSpec windowed = llama_layer();
    windowed.kind = KVCacheKind::kSlidingWindow;
    windowed.sliding_window = 1024;
    CHECK(UniformTypeKVCacheSpecs::is_uniform_type({llama_layer(), wide}));
    CHECK_FALSE(UniformTypeKVCacheSpecs::is_uniform_type({llama_layer(), windowed}));
    // 16 · 8 · (256 + 128) · 2 = 98304.
    CHECK(UniformTypeKVCacheSpecs{{llama_layer(), wide}}.page_size_bytes() == 65536 + 98304);
  }

  TEST_CASE("a recurrent state is padded even where its page would fit several times") {
    // 1024 elements of 2 bytes: a thirty-second of the attention layer's 65536 bytes.
    const KVCacheSpec state = {.kind = KVCacheKind::kMamba,
                               .block_size = 512,
                               .mamba_states = {{{4, 256}, DType::kBFloat16}}};
    const auto unified = unify_page_sizes({llama_layer(), state});
    REQUIRE(unified);
    CHECK((*unified)[1].block_size == 512);
    CHECK(page_size_bytes((*unified)[1]) == 65536);
    CHECK(real_page_size_bytes((*unified)[1]) == 2048);
  }

  TEST_CASE("a window's request holds the window before its query and what is in flight") {
    // The query and the 16 tokens before it: 16 + 16 in flight are two blocks, and one for the offset.
    KVCacheSpec spec = llama_layer();
    spec.sliding_window = 17;
    CHECK(max_admission_blocks_per_request(spec, 16, 4096) == 3);
    CHECK(max_admission_blocks_per_request(spec, 16, 20) == 3);
    CHECK(max_admission_blocks_per_request(spec, 16, 16) == 2);
  }

  TEST_CASE("a page that is smaller than its content is refused") {
    KVCacheSpec spec = llama_layer();
    spec.page_size_padded = 1000;
    CHECK_THROWS_WITH_AS(page_size_bytes(spec),
                         "page_size_padded is 1000, but a block's content has 65536 bytes.", Error);
    spec.num_kv_heads = 0;
    CHECK_THROWS_WITH_AS(page_size_bytes(spec), "num_kv_heads is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(max_admission_blocks_per_request(llama_layer(), 2048, 4096),
                         "sliding_window is 0; it must be at least 1.", Error);
  }
}
