#include "reference/model/llama.h"

#include <doctest/doctest.h>

#include "reference/registry/reference_backends.h"
#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

TEST_SUITE("Llama") {
  TEST_CASE("a batch that contradicts itself or the model is refused") {
    const AttentionLayers layers = tiny_llama().make_attention_layers(
        *make_reference_backend(), tiny_llama().kv_cache_spec(2, 4));
    LlamaBatch batch;
    batch.token_ids = {1, 2};
    batch.positions = {0, 1};
    batch.metadata.query_start_loc = {0, 2};
    batch.metadata.seq_lens = {2};
    batch.metadata.block_table = BlockTable::from_rows({{1}});
    batch.metadata.slot_mapping = {4, 5};
    batch.logits_indices = {1};
    const auto refusal_with = [&](const auto& change) {
      LlamaBatch changed = batch;
      change(changed);
      return refusal_of([&] { tiny_llama().forward(changed, layers); });
    };
    CHECK(refusal_with([](LlamaBatch&) {}) == "(accepted)");
    CHECK(refusal_with([](LlamaBatch& b) { b.token_ids[1] = 65; }) ==
          "token_ids[1] is 65, but the vocabulary has 65 tokens.");
    CHECK(refusal_with([](LlamaBatch& b) { b.positions[0] = 1024; }) ==
          "positions[0] is 1024, but the model has positions 0 to 1023.");
    CHECK(refusal_with([](LlamaBatch& b) { b.positions.pop_back(); }) ==
          "the batch has 2 token_ids, 1 positions and 2 slots: these must agree.");
    CHECK(refusal_with([](LlamaBatch& b) { b.metadata.query_start_loc[1] = 3; }) ==
          "query_start_loc ends at 3, but the batch has 2 tokens.");
    CHECK(refusal_with([](LlamaBatch& b) { b.logits_indices = {2}; }) ==
          "logits_indices holds 2, but the batch has 2 tokens.");
    CHECK(refusal_of([&] { tiny_llama().forward(batch, {}); }) ==
          "the model has 4 layers, but 0 attention layers were given.");
  }

  TEST_CASE("tokens of padding leave the logits of the others bit for bit as they are") {
    const auto logits_with_padding = [](std::int64_t num_padding_tokens) {
      const AttentionLayers layers = tiny_llama().make_attention_layers(
          *make_reference_backend(), tiny_llama().kv_cache_spec(2, 4));
      LlamaBatch batch;
      batch.token_ids = {17, 27, 10};
      batch.positions = {0, 1, 2};
      batch.metadata.query_start_loc = {0, 3};
      batch.metadata.seq_lens = {3};
      batch.metadata.block_table = BlockTable::from_rows({{1}});
      batch.metadata.slot_mapping = {4, 5, 6};
      batch.logits_indices = {2};
      const std::size_t num_tokens = batch.token_ids.size() + num_padding_tokens;
      batch.token_ids.resize(num_tokens, 64);
      batch.positions.resize(num_tokens, 0);
      batch.metadata.slot_mapping.resize(num_tokens, kNoSlot);
      return tiny_llama().forward(batch, layers);
    };
    CHECK(logits_with_padding(5) == logits_with_padding(0));
  }
}
