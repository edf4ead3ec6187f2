// The main job: six prompts, 240 tokens each, decoded greedily in one continuous batch over a pool
// that they outgrow. The tokens must be those that an independent float64 implementation found, whatever the
// backend, the size of a block, the order of the blocks, and what the engine makes use of.

#include <doctest/doctest.h>

#include "gpu/backends/catalog.h"
#include "gpu/runtime/device.h"
#include "tests/simulator/engine/generation/golden_texts.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr Features kEverything = {.prefix_caching = true,
                                  .preemption = true,
                                  .chunked_prefill = true,
                                  .cascade = true,
                                  .graphs = true};

constexpr Features kAllButCascade = {.prefix_caching = true,
                                     .preemption = true,
                                     .chunked_prefill = true,
                                     .cascade = false,
                                     .graphs = true};

void check_golden_texts(const std::string& name,
                        const std::string& target,
                        std::int64_t block_size,
                        std::int64_t num_tokens = kGoldenTokens) {
  test::check_golden_texts(*make_backend(name, target), block_size, num_tokens);
}

bool has_a_gpu() {
  std::string why_not;
  if (cuda_is_available(&why_not)) return true;
  skip_for_want_of_a_gpu(why_not);
  return false;
}

void check_golden_texts_on_gpu(std::int64_t block_size, const std::string& name = "NAIVE") {
  if (has_a_gpu()) check_golden_texts(name, "cuda", block_size);
}

// Without the relatives, whose only use is to share a prefix.
void check_features_without_cascade(const std::string& name,
                                    const std::string& target,
                                    std::int64_t num_tokens) {
  check_golden_texts_with(kAllButCascade, *make_backend(name, target), 16,
                          {.num_relatives = 0, .num_tokens = num_tokens});
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

  // Barriers take time in the simulator: the first tokens of each text; all of them in every_kernel_text_test.cpp.
  TEST_CASE("FLASH_ATTN begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLASH_ATTN", "simulator", 16, 24);
  }
  TEST_CASE("FLASHINFER begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLASHINFER", "simulator", 16, 24);
  }
  TEST_CASE("TRITON_ATTN begins them in the simulator in blocks of 3 tokens") {
    check_golden_texts("TRITON_ATTN", "simulator", 3, 24);
  }
  TEST_CASE("FLEX_ATTENTION begins them in the simulator in blocks of 16 tokens") {
    check_golden_texts("FLEX_ATTENTION", "simulator", 16, 24);
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
    const GoldenWork work = {.num_relatives = 0, .num_tokens = 20};
    const std::vector<GoldenText> requests = golden_requests(work);
    std::vector<std::vector<std::int32_t>> prompts;
    for (const GoldenText& request : requests) prompts.push_back(request.prompt_ids);
    const EngineOptions options = options_of(kAllButCascade, requests, work, 16);
    const std::vector<Generation> reference =
        generate(tiny_llama(), *make_backend("REFERENCE_FLOAT", "cpu"), prompts, 20, options);
    const std::vector<Generation> simulated =
        generate(tiny_llama(), *make_backend("NAIVE", "simulator"), prompts, 20, options);
    for (std::size_t request = 0; request < requests.size(); ++request) {
      CHECK(simulated[request].token_ids == reference[request].token_ids);
      CHECK(simulated[request].min_top2_gap == reference[request].min_top2_gap);
    }
  }
}

// What the engine makes use of, on every target: prefix caching, preemption, chunks, graphs, and cascade where a
// backend has it.
TEST_SUITE("golden texts with all features") {
  TEST_CASE("NAIVE begins them in the simulator") {
    check_features_without_cascade("NAIVE", "simulator", 40);
  }
  TEST_CASE("TRITON_ATTN begins them in the simulator") {
    check_features_without_cascade("TRITON_ATTN", "simulator", 30);
  }
  TEST_CASE("FLEX_ATTENTION begins them in the simulator") {
    check_features_without_cascade("FLEX_ATTENTION", "simulator", 30);
  }
  TEST_CASE("FLASH_ATTN begins them in the simulator in a cascade") {
    check_golden_texts_with(kEverything, *make_backend("FLASH_ATTN", "simulator"), 16,
                            {.num_tokens = 16});
  }
  TEST_CASE("FLASHINFER begins them in the simulator in a cascade") {
    check_golden_texts_with(kEverything, *make_backend("FLASHINFER", "simulator"), 16,
                            {.num_tokens = 16});
  }
  TEST_CASE("CPU_ATTN writes them") {
    check_features_without_cascade("CPU_ATTN", "cpu", kGoldenTokens);
  }
  TEST_CASE("NAIVE writes them on the GPU") {
    if (has_a_gpu()) check_features_without_cascade("NAIVE", "cuda", kGoldenTokens);
  }
  TEST_CASE("TRITON_ATTN writes them on the GPU") {
    if (has_a_gpu()) check_features_without_cascade("TRITON_ATTN", "cuda", kGoldenTokens);
  }
  TEST_CASE("FLEX_ATTENTION writes them on the GPU") {
    if (has_a_gpu()) check_features_without_cascade("FLEX_ATTENTION", "cuda", kGoldenTokens);
  }
  TEST_CASE("FLASH_ATTN writes them on the GPU in a cascade") {
    if (has_a_gpu()) check_golden_texts_with(kEverything, *make_backend("FLASH_ATTN", "cuda"), 16);
  }
  TEST_CASE("FLASHINFER writes them on the GPU in a cascade") {
    if (has_a_gpu()) check_golden_texts_with(kEverything, *make_backend("FLASHINFER", "cuda"), 16);
  }
}
