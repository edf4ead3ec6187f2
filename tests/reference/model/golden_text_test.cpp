// The main job, whatever the backend, the size of a block and the order of the blocks.

#include <doctest/doctest.h>

#include "gpu/backends/catalog.h"
#include "tests/gpu/devices.h"
#include "tests/reference/model/golden_texts.h"
#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_golden_texts(const std::string& name,
                        const std::string& target,
                        std::int64_t block_size,
                        std::int64_t num_tokens = kMaxTokens) {
  test::check_golden_texts(*make_backend(name, target), block_size, num_tokens);
}

void check_golden_texts_on_gpu(std::int64_t block_size, const std::string& name = "NAIVE") {
  if (gpu_or_skip()) check_golden_texts(name, "cuda", block_size);
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

  // Barriers take time in the simulator: the beginning of each text; the whole of it is in golden_text_slow.
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
