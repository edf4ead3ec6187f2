// The main job: six prompts, 240 tokens each, decoded greedily in one continuous batch over a pool
// that holds two of them at a time. The tokens must be those that an independent float64
// implementation found, whatever the backend, the size of a block and the order of the blocks.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gpu/backends/catalog.h"
#include "gpu/runtime/device.h"
#include "reference/model/batch_loop.h"
#include "tests/reference/model/model_files.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::int64_t kMaxTokens = 240;

/// The implementation that made the goldens rounds RoPE's angles elsewhere, which moves the gaps by
/// up to 3e-6 (the model's README, which asks for this tolerance). Attention in float32 moves them by
/// another 1e-6, as measured against REFERENCE.
constexpr double kGapTolerance = 1e-5;

struct GoldenText {
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> output_ids;
  double min_top2_gap;
};

std::vector<GoldenText> golden_texts() {
  std::vector<GoldenText> texts;
  for (const nlohmann::json& golden : tiny_llama_json("golden_greedy.json")) {
    texts.push_back({golden["prompt_ids"], golden["output_ids"], golden["min_top2_gap"]});
  }
  return texts;
}

/// A pool for the two largest requests, so that the others wait; its blocks in shuffled order.
BatchLoopOptions few_shuffled_blocks(const std::vector<GoldenText>& golden,
                                     std::int64_t block_size,
                                     std::int64_t num_tokens = kMaxTokens) {
  std::vector<std::int64_t> needed;
  for (const GoldenText& text : golden) {
    needed.push_back(blocks_for_request(static_cast<std::int64_t>(text.prompt_ids.size()),
                                        num_tokens, block_size));
  }
  std::sort(needed.rbegin(), needed.rend());
  BatchLoopOptions options;
  options.block_size = block_size;
  options.num_blocks = 1 + needed[0] + needed[1];
  options.max_num_batched_tokens = 32;
  options.block_order_seed = 1000 + block_size;
  return options;
}

bool mixes_prefill_chunk_and_decode(const StepRecord& record,
                                    const std::vector<GoldenText>& golden) {
  const auto is_chunk = [&](const ScheduledPart& scheduled) {
    const std::int64_t prompt_len =
        static_cast<std::int64_t>(golden[scheduled.req_idx].prompt_ids.size());
    return scheduled.is_prefill && scheduled.num_tokens < prompt_len;
  };
  return record.num_decode_tokens > 0 &&
         std::any_of(record.scheduled.begin(), record.scheduled.end(), is_chunk);
}

void check_golden_texts(const std::string& name,
                        const std::string& target,
                        std::int64_t block_size,
                        std::int64_t num_tokens = kMaxTokens) {
  const std::vector<GoldenText> golden = golden_texts();
  REQUIRE(golden.size() == 6);
  std::vector<std::vector<std::int32_t>> prompts;
  for (const GoldenText& text : golden) prompts.push_back(text.prompt_ids);

  std::int64_t num_mixed_steps = 0;
  std::int64_t num_steps_with_waiting = 0;
  const auto on_step = [&](const StepRecord& record) {
    num_mixed_steps += mixes_prefill_chunk_and_decode(record, golden);
    num_steps_with_waiting += record.num_waiting > 0;
  };
  const std::vector<Generation> generations =
      generate(tiny_llama(), *make_backend(name, target), prompts, num_tokens,
               few_shuffled_blocks(golden, block_size, num_tokens), on_step);

  for (std::size_t request = 0; request < golden.size(); ++request) {
    CAPTURE(request);
    REQUIRE(golden[request].output_ids.size() == kMaxTokens);
    const std::vector<std::int32_t>& output_ids = golden[request].output_ids;
    const std::vector<std::int32_t> expected(output_ids.begin(), output_ids.begin() + num_tokens);
    CHECK(generations[request].token_ids == expected);
    if (num_tokens < kMaxTokens) continue;  // the golden gap is the smallest of the whole text
    const double gap_error = generations[request].min_top2_gap - golden[request].min_top2_gap;
    CHECK(std::abs(gap_error) <= kGapTolerance);
  }
  CHECK(num_mixed_steps > 0);
  CHECK(num_steps_with_waiting > 0);
}

void check_golden_texts_on_gpu(std::int64_t block_size, const std::string& name = "NAIVE") {
  std::string why_not;
  if (!cuda_is_available(&why_not)) {
    skip_for_want_of_a_gpu(why_not);
    return;
  }
  check_golden_texts(name, "cuda", block_size);
}

}  // namespace

// A case a block size, so that ctest runs them side by side.
TEST_SUITE("golden texts") {
  TEST_CASE("REFERENCE writes them in blocks of 1 token") {
    check_golden_texts("REFERENCE", "cpu", 1);
  }
  TEST_CASE("REFERENCE writes them in blocks of 3 tokens") {
    check_golden_texts("REFERENCE", "cpu", 3);
  }
  TEST_CASE("REFERENCE writes them in blocks of 16 tokens") {
    check_golden_texts("REFERENCE", "cpu", 16);
  }
  TEST_CASE("REFERENCE writes them in blocks of 64 tokens") {
    check_golden_texts("REFERENCE", "cpu", 64);
  }

  TEST_CASE("REFERENCE_FLOAT writes them in blocks of 1 token") {
    check_golden_texts("REFERENCE_FLOAT", "cpu", 1);
  }
  TEST_CASE("REFERENCE_FLOAT writes them in blocks of 3 tokens") {
    check_golden_texts("REFERENCE_FLOAT", "cpu", 3);
  }
  TEST_CASE("REFERENCE_FLOAT writes them in blocks of 16 tokens") {
    check_golden_texts("REFERENCE_FLOAT", "cpu", 16);
  }
  TEST_CASE("REFERENCE_FLOAT writes them in blocks of 64 tokens") {
    check_golden_texts("REFERENCE_FLOAT", "cpu", 64);
  }

  TEST_CASE("CPU_ATTN writes them in blocks of 1 token") {
    check_golden_texts("CPU_ATTN", "cpu", 1);
  }
  TEST_CASE("CPU_ATTN writes them in blocks of 3 tokens") {
    check_golden_texts("CPU_ATTN", "cpu", 3);
  }
  TEST_CASE("CPU_ATTN writes them in blocks of 16 tokens") {
    check_golden_texts("CPU_ATTN", "cpu", 16);
  }
  TEST_CASE("CPU_ATTN writes them in blocks of 64 tokens") {
    check_golden_texts("CPU_ATTN", "cpu", 64);
  }

  TEST_CASE("NAIVE writes them in the simulator in blocks of 1 token") {
    check_golden_texts("NAIVE", "simulator", 1);
  }
  TEST_CASE("NAIVE writes them in the simulator in blocks of 3 tokens") {
    check_golden_texts("NAIVE", "simulator", 3);
  }
  TEST_CASE("NAIVE writes them in the simulator in blocks of 16 tokens") {
    check_golden_texts("NAIVE", "simulator", 16);
  }
  TEST_CASE("NAIVE writes them in the simulator in blocks of 64 tokens") {
    check_golden_texts("NAIVE", "simulator", 64);
  }

  TEST_CASE("NAIVE writes them on the GPU in blocks of 1 token") { check_golden_texts_on_gpu(1); }
  TEST_CASE("NAIVE writes them on the GPU in blocks of 3 tokens") { check_golden_texts_on_gpu(3); }
  TEST_CASE("NAIVE writes them on the GPU in blocks of 16 tokens") {
    check_golden_texts_on_gpu(16);
  }
  TEST_CASE("NAIVE writes them on the GPU in blocks of 64 tokens") {
    check_golden_texts_on_gpu(64);
  }

  // Barriers take time in the simulator: the first 40 tokens of each text.
  TEST_CASE("FLASH_ATTN begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLASH_ATTN", "simulator", 16, 40);
  }
  TEST_CASE("FLASHINFER begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLASHINFER", "simulator", 16, 40);
  }
  TEST_CASE("TRITON_ATTN begins them in the simulator in blocks of 3 tokens") {
    check_golden_texts("TRITON_ATTN", "simulator", 3, 40);
  }
  TEST_CASE("FLEX_ATTENTION begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLEX_ATTENTION", "simulator", 16, 40);
  }
  TEST_CASE("FLASH_ATTN writes them on the GPU in blocks of 16 tokens") {
    check_golden_texts_on_gpu(16, "FLASH_ATTN");
  }
  TEST_CASE("FLASHINFER writes them on the GPU in blocks of 16 tokens") {
    check_golden_texts_on_gpu(16, "FLASHINFER");
  }

  TEST_CASE("TRITON_ATTN writes them on the GPU in blocks of 3 tokens") {
    check_golden_texts_on_gpu(3, "TRITON_ATTN");
  }
  TEST_CASE("FLEX_ATTENTION writes them on the GPU in blocks of 16 tokens") {
    check_golden_texts_on_gpu(16, "FLEX_ATTENTION");
  }

  TEST_CASE("NAIVE in the simulator has the very bits of REFERENCE_FLOAT") {
    // Shorter texts will do: the gaps between logits carry every bit of the attention before them.
    const std::vector<GoldenText> golden = golden_texts();
    std::vector<std::vector<std::int32_t>> prompts;
    for (const GoldenText& text : golden) prompts.push_back(text.prompt_ids);
    const BatchLoopOptions options = few_shuffled_blocks(golden, 16);
    const std::vector<Generation> reference =
        generate(tiny_llama(), *make_backend("REFERENCE_FLOAT", "cpu"), prompts, 20, options);
    const std::vector<Generation> simulated =
        generate(tiny_llama(), *make_backend("NAIVE", "simulator"), prompts, 20, options);
    for (std::size_t request = 0; request < golden.size(); ++request) {
      CHECK(simulated[request].token_ids == reference[request].token_ids);
      CHECK(simulated[request].min_top2_gap == reference[request].min_top2_gap);
    }
  }
}
