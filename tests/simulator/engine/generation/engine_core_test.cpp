#include "simulator/engine/generation/engine_core.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/reference/model/model_files.h"
#include "tests/simulator/engine/generation/spying_backend.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

const auto kReference = make_reference_backend();

}  // namespace

TEST_SUITE("engine core") {
  TEST_CASE("a request needs blocks for all its tokens but the last") {
    CHECK(blocks_for_request(10, 6, 5) == 3);  // 15 tokens are stored
    CHECK(blocks_for_request(10, 7, 5) == 4);  // 16 are
    CHECK(blocks_for_request(1, 1, 16) == 1);
    CHECK(num_blocks_for_all(tiny_llama().config(), {prompt_of(10), prompt_of(1)}, 7, 5) ==
          1 + 4 + 2);
  }

  TEST_CASE("E7: a request that can never fit is refused with the numbers and the next one runs") {
    EngineCore engine(tiny_llama(), *kReference, pool(5, 16, 64));
    CHECK(refusal_of([&] { engine.add_request(prompt_of(100), 5); }) ==
          "request 0 can never run: its 104 tokens need 7 blocks of 16, but 4 exist (num_blocks 5, "
          "the null block included).");
    CHECK(engine.add_request(prompt_of(10), 5) == 0);
    run_to_the_end(engine);
    CHECK(engine.generations()[0].token_ids.size() == 5);
  }

  TEST_CASE("two blocks are the smallest pool and hold one block of tokens") {
    // 4 prompt tokens and 13 new ones: 16 are stored, one block.
    EngineCore engine(tiny_llama(), *kReference, pool(2, 16, 64));
    engine.add_request(prompt_of(4), 13);
    engine.add_request(prompt_of(3), 2);
    CHECK(refusal_of([&] { engine.add_request(prompt_of(4), 14); }) != "(accepted)");
    const std::vector<StepRecord> records = run_to_the_end(engine);
    CHECK(records.front().num_waiting == 1);
    CHECK(records.size() == 13 + 2);
    CHECK(refusal_of([] { EngineCore(tiny_llama(), *kReference, pool(1, 16, 64)); }) ==
          "num_blocks is 1; it must be from 2 (the null block and one for tokens) to 2147483647.");
  }

  TEST_CASE("E9: a prompt in chunks sees exactly the keys up to the end of each chunk") {
    // Unwritten slots are poisoned with NaN, so a key read too early would end in an error.
    const SpyingBackend spy;
    EngineCore engine(tiny_llama(), spy, pool(8, 4, 4));
    engine.add_request(prompt_of(10), 3);
    run_to_the_end(engine);
    std::vector<std::int32_t> seq_lens;
    for (const CommonAttentionMetadata& metadata : spy.layers[0]->seen) {
      REQUIRE(metadata.seq_lens.size() == 1);
      seq_lens.push_back(metadata.seq_lens[0]);
    }
    CHECK(seq_lens == std::vector<std::int32_t>{4, 8, 10, 11, 12});

    EngineCore one_shot(tiny_llama(), *kReference, pool(8, 4, 64));
    one_shot.add_request(prompt_of(10), 3);
    run_to_the_end(one_shot);
    CHECK(one_shot.generations()[0].token_ids == engine.generations()[0].token_ids);
    CHECK(one_shot.generations()[0].min_top2_gap == engine.generations()[0].min_top2_gap);
  }

  TEST_CASE("a step computes one request's prompt chunk next to another's decode") {
    EngineCore engine(tiny_llama(), *kReference, pool(32, 3, 8));
    engine.add_request(prompt_of(5), 4);
    engine.add_request(prompt_of(11), 2);
    const StepRecord first = engine.step();  // all of prompt 0, and 3 tokens of prompt 1
    CHECK(first.num_prefill_tokens == 8);
    CHECK(first.num_decode_tokens == 0);
    const StepRecord second = engine.step();  // a decode and 7 more prompt tokens
    CHECK(second.num_decode_tokens == 1);
    CHECK(second.num_prefill_tokens == 7);
    REQUIRE(second.scheduled.size() == 2);
    CHECK_FALSE(second.scheduled[0].is_prefill);
    CHECK(second.scheduled[1].is_prefill);
    CHECK(second.scheduled[1].num_computed_tokens == 3);
    CHECK(to_string(second) ==
          "step 1: 1 decode + 7 prefill tokens, 6 blocks in use, 0 waiting");  // 6 and 10 tokens
  }

  TEST_CASE("a request has the same bits alone and in a crowd and in any blocks") {
    const std::vector<std::int32_t> prompt = prompt_of(9);
    const Generation alone = generate(tiny_llama(), *kReference, {prompt}, 12, pool(9, 16, 64))[0];
    for (std::int64_t block_size : {1, 3, 16}) {
      EngineOptions options = pool(80, block_size, 6);
      options.block_order_seed = 11 * block_size;
      const Generation crowded =
          generate(tiny_llama(), *kReference, {prompt_of(2), prompt_of(13), prompt, prompt_of(1)},
                   12, options)[2];
      CAPTURE(block_size);
      CHECK(crowded.token_ids == alone.token_ids);
      CHECK(crowded.min_top2_gap == alone.min_top2_gap);
    }
  }

  TEST_CASE("the null block is never written and a shuffled pool is used out of order") {
    const SpyingBackend spy;
    EngineOptions options = pool(7, 3, 64);
    options.block_order_seed = 5;
    EngineCore engine(tiny_llama(), spy, options);
    engine.add_request(prompt_of(8), 9);  // 16 tokens, all six blocks
    run_to_the_end(engine);
    const std::vector<std::int32_t>& blocks = spy.layers[0]->seen.back().block_table.entries;
    REQUIRE(blocks.size() == 6);
    CHECK_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
    for (const SpiedImpl* layer : spy.layers) {
      const Tensor keys = layer->kv_cache().keys();
      const std::int64_t elements_per_block = 3 * 2 * 32;
      for (std::int64_t i = 0; i < elements_per_block; ++i) REQUIRE(std::isnan(keys.value(i)));
      // The last token's slot is the first of the last logical block.
      CHECK_FALSE(std::isnan(keys.value(blocks[5] * elements_per_block)));
    }
  }

  TEST_CASE("nobody overtakes a request that waits for blocks") {
    // Five blocks of 4 tokens: request 0 takes three, request 1 needs four, request 2 only one.
    EngineCore engine(tiny_llama(), *kReference, pool(6, 4, 64));
    engine.add_request(prompt_of(9), 4);   // 12 tokens
    engine.add_request(prompt_of(13), 3);  // 15 tokens
    engine.add_request(prompt_of(2), 3);   // 4 tokens
    const std::vector<StepRecord> records = run_to_the_end(engine);
    REQUIRE(records.size() == 4 + 3);
    for (std::size_t step = 0; step < 4; ++step) {
      CHECK(records[step].num_waiting == 2);
      CHECK(records[step].num_blocks_in_use == 3);
    }
    CHECK(records[3].finished == std::vector<std::int64_t>{0});
    CHECK(records[4].num_waiting == 0);
    CHECK(records[4].num_blocks_in_use == 5);
    CHECK(records[6].finished == std::vector<std::int64_t>{1, 2});
  }

  TEST_CASE("a budget of one token a step gives the same text") {
    const std::vector<std::vector<std::int32_t>> prompts = {prompt_of(4), prompt_of(6)};
    const std::vector<Generation> wide =
        generate(tiny_llama(), *kReference, prompts, 5, pool(9, 4, 64));
    std::int64_t num_steps = 0;
    const std::vector<Generation> narrow =
        generate(tiny_llama(), *kReference, prompts, 5, pool(9, 4, 1), [&](const StepRecord& step) {
          CHECK(step.num_prefill_tokens + step.num_decode_tokens == 1);
          ++num_steps;
        });
    CHECK(num_steps == (4 + 5 - 1) + (6 + 5 - 1));
    for (std::size_t i = 0; i < 2; ++i) CHECK(narrow[i].token_ids == wide[i].token_ids);
  }

  TEST_CASE("a text ends with the first end token and its blocks are free at once") {
    const Generation plain =
        generate(tiny_llama(), *kReference, {prompt_of(6)}, 20, pool(3, 16, 64))[0];
    CHECK(plain.finish_reason == FinishReason::kLength);
    LlamaConfig config = tiny_llama().config();
    config.eos_token_ids = {plain.token_ids[7]};
    const Llama model(config, read_llama_weights(tiny_llama_folder(), config));
    const Generation stopped = generate(model, *kReference, {prompt_of(6)}, 20, pool(3, 16, 64))[0];
    const auto first_end =
        std::find(plain.token_ids.begin(), plain.token_ids.end(), config.eos_token_ids[0]);
    const std::vector<std::int32_t> expected(plain.token_ids.begin(), first_end + 1);
    CHECK(stopped.token_ids == expected);
    CHECK(stopped.finish_reason == FinishReason::kStop);
    CHECK(to_string(stopped.finish_reason) == "stop");
  }

  TEST_CASE("a request that is wrong in itself is refused in a sentence") {
    EngineCore engine(tiny_llama(), *kReference, pool(80, 16, 64));
    CHECK(refusal_of([&] { engine.add_request({}, 5); }) ==
          "the prompt of request 0 is empty; it must have a token.");
    CHECK(refusal_of([&] {
            engine.add_request({3, 65}, 5);
          }) ==
          "token 65 at position 1 of request 0's prompt is outside the vocabulary of 65 tokens.");
    CHECK(refusal_of([&] { engine.add_request({-1}, 5); }) != "(accepted)");
    CHECK(refusal_of([&] { engine.add_request({3}, 0); }) ==
          "max_tokens is 0; it must be 1 or more.");
    CHECK(refusal_of([&] { engine.add_request(prompt_of(1000), 25); }) ==
          "request 0 has 1000 prompt tokens and asks for 25 more, but the model has 1024 "
          "positions.");
    CHECK(refusal_of([&] { engine.add_request({3}, INT64_MAX); }) != "(accepted)");
    CHECK(engine.add_request(prompt_of(1000), 24) == 0);
  }

  TEST_CASE("options out of range are refused before anything is allocated") {
    const auto refusal_with = [](const EngineOptions& options) {
      return refusal_of([&] { EngineCore(tiny_llama(), *kReference, options); });
    };
    CHECK(refusal_with(pool(4, 0, 64)) == "block_size is 0; it must be at least 1.");
    CHECK(refusal_with(pool(4, 16, 0)) == "max_num_batched_tokens is 0; it must be at least 1.");
    // 2147483647 · 1024 tokens of 4 layers · 2 · 2 heads · 32 floats: 4 PiB, on any machine too
    // much.
    CHECK(refusal_with(pool(2147483647, 1024, 64))
              .rfind("num_blocks 2147483647 of block_size 1024 make a cache of 4194304.0 GiB, but "
                     "this machine has ",
                     0) == 0);
    CHECK(refusal_with(pool(4, INT64_MAX, 64)) != "(accepted)");
  }

  TEST_CASE("an engine with nothing to do refuses to step") {
    EngineCore engine(tiny_llama(), *kReference, pool(4, 16, 64));
    CHECK_FALSE(engine.has_unfinished());
    CHECK(refusal_of([&] { engine.step(); }) == "there is no request left to compute a step for.");
  }

  TEST_CASE("a backend that returns a NaN is reported and not decoded into text") {
    const SpyingBackend spy;
    EngineCore engine(tiny_llama(), spy, pool(4, 16, 64));
    engine.add_request(prompt_of(1), 5);
    spy.layers[3]->answers_nan = true;
    CHECK(refusal_of([&] { engine.step(); }) ==
          "the logits after token 0 of request 0 hold a NaN: the backend returned values that are "
          "not numbers.");
  }
}
