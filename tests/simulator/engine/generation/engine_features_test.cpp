// What the engine makes of prefix caching, preemption, graphs and cascade, one at a time: the way there
// differs, the text does not.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/reference/model/model_files.h"
#include "tests/simulator/engine/generation/spying_backend.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::vector<std::int32_t> text_alone(const std::vector<std::int32_t>& prompt,
                                     std::int64_t max_tokens) {
  return generate(tiny_llama(), *make_reference_backend(), {prompt}, max_tokens,
                  pool(20, 16, 64))[0]
      .token_ids;
}

// As many prompts with 256 tokens in common and two of their own.
std::vector<std::vector<std::int32_t>> prompts_of_a_family(std::int64_t num_prompts) {
  std::vector<std::vector<std::int32_t>> prompts;
  for (std::int64_t index = 0; index < num_prompts; ++index) {
    prompts.push_back(prompt_of(256));
    prompts.back().push_back(static_cast<std::int32_t>(index));
    prompts.back().push_back(3);
  }
  return prompts;
}

}  // namespace

TEST_SUITE("engine features") {
  TEST_CASE("E11: what stands behind a found prefix reads it through a shuffled block table") {
    EngineOptions options = pool(12, 4, 64);
    options.enable_prefix_caching = true;
    options.block_order_seed = 7;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    engine.add_request(prompt_of(10), 3);
    engine.add_request(prompt_of(10), 3);
    const StepRecord first = engine.step();
    // Two blocks of four are full. The second request computes the two tokens behind them, in a block of its own.
    CHECK(first.num_hit_tokens == 8);
    CHECK(first.num_prefill_tokens == 10 + 2);
    CHECK(first.num_blocks_in_use == 3 + 1);
    CHECK(to_string(first) ==
          "step 0: 0 decode + 12 prefill tokens, 4 blocks in use, 0 waiting; 8 tokens found in the "
          "prefix cache");
    run_to_the_end(engine);
    for (const Generation& generation : engine.generations()) {
      CHECK(generation.token_ids == text_alone(prompt_of(10), 3));
    }
  }

  TEST_CASE("a prompt of whole blocks computes its last block again") {
    EngineOptions options = pool(12, 4, 64);
    options.enable_prefix_caching = true;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    engine.add_request(prompt_of(8), 1);
    engine.add_request(prompt_of(8), 1);
    // Its last token's output is wanted, so at most 7 tokens may be found: one block.
    CHECK(engine.step().num_hit_tokens == 4);
  }

  TEST_CASE("a request that loses its blocks computes its prompt and its text once more") {
    // Each request needs two blocks of four tokens in the end, and there are three.
    EngineCore engine(tiny_llama(), *make_reference_backend(), pool(4, 4, 64));
    engine.add_request({1, 2, 3, 4}, 5);
    engine.add_request({9, 8, 7, 6}, 5);
    const std::vector<StepRecord> records = run_to_the_end(engine);
    // Step 1 wants a second block for each, and the second one's is not there.
    REQUIRE(records.size() == 5 + 4);
    CHECK(records[0].num_blocks_in_use == 2);
    CHECK(records[1].preempted == std::vector<std::int64_t>{1});
    CHECK(to_string(records[1]) ==
          "step 1: 1 decode + 0 prefill tokens, 2 blocks in use, 1 waiting; request 1 preempted");
    // Until request 0 ends in step 4, two blocks do not fit. Then the prompt and one token are computed again.
    CHECK(records[4].finished == std::vector<std::int64_t>{0});
    CHECK(records[5].num_prefill_tokens == 5);
    CHECK(records[5].num_decode_tokens == 0);
    CHECK(records[8].finished == std::vector<std::int64_t>{1});
    CHECK(engine.generations()[0].token_ids == text_alone({1, 2, 3, 4}, 5));
    CHECK(engine.generations()[1].token_ids == text_alone({9, 8, 7, 6}, 5));
    CHECK(totals_of(records).num_preemptions == 1);
  }

  TEST_CASE("three decodes are padded to a full graph of four rows that store nothing") {
    const SpyingBackend spy;
    EngineOptions options = pool(20, 4, 64);
    options.cudagraph_mode = CUDAGraphMode::kFullAndPiecewise;
    EngineCore engine(tiny_llama(), spy, options);
    for (const std::int64_t length : {5, 6, 9}) engine.add_request(prompt_of(length), 4);
    const std::vector<StepRecord> records = run_to_the_end(engine);
    // 20 prompt tokens: capture sizes are 1, 2, 4, 8, 16, 24, ...
    CHECK(records[0].graph_mode == CUDAGraphMode::kPiecewise);
    CHECK(records[0].num_padding_tokens == 4);
    CHECK(records[1].graph_mode == CUDAGraphMode::kFull);
    CHECK(records[1].num_padding_tokens == 1);
    CHECK(
        to_string(records[1]) ==
        "step 1: 3 decode + 0 prefill tokens, 7 blocks in use, 0 waiting; FULL graph of 4 tokens");
    const CommonAttentionMetadata& decodes = spy.layers[0]->seen[1];
    CHECK(decodes.query_start_loc == std::vector<std::int32_t>{0, 1, 2, 3, 3});
    CHECK(decodes.seq_lens[3] == 0);
    REQUIRE(decodes.slot_mapping.size() == 4);
    CHECK(decodes.slot_mapping[3] == kNoSlot);
    for (std::size_t i = 0; i < 3; ++i) {
      const Generation& generation = engine.generations()[i];
      CHECK(generation.token_ids == text_alone(generation.prompt_ids, 4));
    }
    const StepTotals totals = totals_of(records);
    CHECK(totals.num_steps == 4);
    CHECK(totals.num_steps_of_mode == std::array<std::int64_t, 3>{0, 1, 3});
    CHECK(totals.num_padding_tokens == 4 + 3);
  }

  TEST_CASE("decodes stand before prefills in the batch though they were scheduled later") {
    const SpyingBackend spy;
    EngineCore engine(tiny_llama(), spy, pool(20, 4, 8));
    engine.add_request(prompt_of(14), 2);  // 8 tokens, then 6
    engine.step();
    engine.add_request({5}, 3);  // one token of a prompt
    const StepRecord second = engine.step();
    REQUIRE(second.scheduled.size() == 2);
    CHECK(second.scheduled[0].req_idx == 0);
    CHECK(spy.layers[0]->seen[1].seq_lens == std::vector<std::int32_t>{1, 14});
    run_to_the_end(engine);
    CHECK(engine.generations()[0].token_ids == text_alone(prompt_of(14), 2));
    CHECK(engine.generations()[1].token_ids == text_alone({5}, 3));
  }

  TEST_CASE("eight requests with 256 tokens in common decode in a cascade") {
    EngineOptions options = pool(80, 16, 512);
    options.enable_prefix_caching = true;
    options.cascade = true;
    // On one multiprocessor the prefix of 2 tiles costs 4 heads 8 waves, and without cascade 8 requests with
    // 2 KV heads 32.
    options.num_sms = 1;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    const std::vector<std::vector<std::int32_t>> prompts = prompts_of_a_family(8);
    for (const auto& prompt : prompts) engine.add_request(prompt, 3);
    const std::vector<StepRecord> records = run_to_the_end(engine);
    REQUIRE(records.size() == 3);
    // The first request has computed nothing before step 0, so nothing is common yet.
    CHECK(records[0].cascade_prefix_len == 0);
    CHECK(records[0].num_hit_tokens == 7 * 256);
    CHECK(records[1].cascade_prefix_len == 256);
    CHECK(to_string(records[2]) ==
          "step 2: 8 decode + 0 prefill tokens, 24 blocks in use, 0 waiting; cascade over 256 "
          "tokens");
    CHECK(totals_of(records).num_cascade_steps == 2);
    CHECK(totals_of(records).longest_prefix == 256);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      CHECK(engine.generations()[i].token_ids == text_alone(prompts[i], 3));
    }
  }

  TEST_CASE("without prefix caching equal prompts are not a common prefix") {
    EngineOptions options = pool(8 * 17 + 1, 16, 2100);
    options.cascade = true;
    options.num_sms = 1;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    for (const auto& prompt : prompts_of_a_family(8)) engine.add_request(prompt, 2);
    CHECK(totals_of(run_to_the_end(engine)).num_cascade_steps == 0);
  }

  TEST_CASE("a step of a cascade is no full graph") {
    EngineOptions options = pool(80, 16, 512);
    options.enable_prefix_caching = true;
    options.cascade = true;
    options.num_sms = 1;
    options.cudagraph_mode = CUDAGraphMode::kFullAndPiecewise;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    for (const auto& prompt : prompts_of_a_family(8)) engine.add_request(prompt, 3);
    engine.add_request({4, 5}, 6);  // goes on alone
    const std::vector<StepRecord> records = run_to_the_end(engine);
    // With a stranger in the batch nothing is common.
    CHECK(totals_of(records).num_cascade_steps == 0);
    CHECK(records[1].graph_mode == CUDAGraphMode::kFull);

    EngineCore family(tiny_llama(), *make_reference_backend(), options);
    for (const auto& prompt : prompts_of_a_family(8)) family.add_request(prompt, 3);
    const std::vector<StepRecord> cascades = run_to_the_end(family);
    CHECK(cascades[1].cascade_prefix_len == 256);
    CHECK(cascades[1].graph_mode == CUDAGraphMode::kPiecewise);
  }

  TEST_CASE("a backend without cascade attention refuses to be asked for it") {
    EngineOptions options = pool(8, 4, 64);
    options.cascade = true;
    CHECK(refusal_of([&] { EngineCore(tiny_llama(), SpyingBackend(), options); }) ==
          "this backend has no cascade attention; REFERENCE, REFERENCE_FLOAT, FLASH_ATTN and "
          "FLASHINFER have.");
    options.num_sms = 0;
    CHECK(refusal_of([&] { EngineCore(tiny_llama(), *make_reference_backend(), options); }) ==
          "num_sms is 0; it must be at least 1.");
  }

  TEST_CASE("without chunks a prompt waits for a step that holds all of it") {
    EngineOptions options = pool(80, 16, 1024);
    options.enable_chunked_prefill = false;
    EngineCore engine(tiny_llama(), *make_reference_backend(), options);
    engine.add_request(prompt_of(600), 2);
    engine.add_request(prompt_of(500), 2);
    const StepRecord first = engine.step();
    CHECK(first.num_prefill_tokens == 600);
    CHECK(first.num_waiting == 1);
    CHECK(engine.step().num_prefill_tokens == 500);
    // With chunks the second prompt's first 424 tokens had been in the first step.
    options.max_num_batched_tokens = 64;
    CHECK(refusal_of([&] { EngineCore(tiny_llama(), *make_reference_backend(), options); }) ==
          "max_num_batched_tokens is 64, and without enable_chunked_prefill a prompt of up to "
          "max_model_len 1024 tokens would never fit a step.");
  }
}
