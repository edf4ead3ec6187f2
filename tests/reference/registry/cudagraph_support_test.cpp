#include "reference/registry/cudagraph_support.h"

#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "reference/registry/catalogue/rows.h"

using namespace pagelab;

namespace {

// A layer of 32 query and 8 KV heads of 128 elements.
SelectionQuestion layer_on(DeviceCapability capability) {
  SelectionQuestion question;
  question.config.head_size = 128;
  question.config.dtype = "bfloat16";
  question.capability = capability;
  question.model = ModelConfig();
  question.model->head_size = 128;
  question.model->num_heads = 32;
  question.model->num_kv_heads = 8;
  return question;
}

std::string flashinfer_on(const SelectionQuestion& question) {
  return to_string(cudagraph_support(catalogue::flashinfer(), question));
}

}  // namespace

TEST_SUITE("CUDA-graph support") {
  TEST_CASE("the weakest group decides and the first that weak is named") {
    const MinCGSupport weakest =
        min_cudagraph_support({{AttentionCGSupport::kAlways, "TritonAttentionBackend"},
                               {AttentionCGSupport::kUniformBatch, "FlashAttentionBackend"},
                               {AttentionCGSupport::kUniformBatch, "Mamba2AttentionBackend"}});
    CHECK(weakest.support == AttentionCGSupport::kUniformBatch);
    CHECK(weakest.backend == "FlashAttentionBackend");
    CHECK_FALSE(min_cudagraph_support({{AttentionCGSupport::kAlways, "A"}}).backend);
    CHECK(min_cudagraph_support({}).support == AttentionCGSupport::kAlways);
  }

  TEST_CASE("FlashAttention 3 can always be recorded and version 2 with uniform batches") {
    CHECK(cudagraph_support(catalogue::flash_attn(), layer_on({9, 0})) ==
          AttentionCGSupport::kAlways);
    CHECK(cudagraph_support(catalogue::flash_attn(), layer_on({8, 0})) ==
          AttentionCGSupport::kUniformBatch);
  }

  TEST_CASE("FlashInfer records decodes of several tokens where a TRT-LLM kernel serves them") {
    CHECK(flashinfer_on(layer_on({9, 0})) == "UNIFORM_BATCH");
    CHECK(flashinfer_on(layer_on({10, 0})) == "UNIFORM_BATCH");
    CHECK(flashinfer_on(layer_on({8, 0})) == "UNIFORM_SINGLE_TOKEN_DECODE");
  }

  TEST_CASE("FlashInfer records single tokens where one condition of the kernel fails") {
    const auto changed = [](DeviceCapability capability, auto change) {
      SelectionQuestion question = layer_on(capability);
      change(question);
      return flashinfer_on(question);
    };
    const std::string single = "UNIFORM_SINGLE_TOKEN_DECODE";
    CHECK(changed({9, 0}, [](auto& asked) { asked.config.use_dcp = true; }) == single);
    CHECK(changed({9, 0}, [](auto& asked) { asked.config.head_size = 512; }) == single);
    CHECK(changed({10, 0}, [](auto& asked) { asked.config.head_size = 512; }) == "UNIFORM_BATCH");
    CHECK(changed({9, 0}, [](auto& asked) { asked.config.kv_cache_dtype = "nvfp4"; }) == single);
    CHECK(changed({12, 0}, [](auto& asked) { asked.config.kv_cache_dtype = "nvfp4"; }) ==
          "UNIFORM_BATCH");
    CHECK(changed({9, 0}, [](auto& asked) { asked.model->num_kv_heads = 5; }) == single);
    CHECK(changed({9, 0}, [](auto& asked) { asked.environment.use_trtllm_attention = false; }) ==
          single);
    CHECK(changed({10, 0}, [](auto& asked) { asked.config.use_non_causal = true; }) == single);
    CHECK(changed({9, 0}, [](auto& asked) { asked.config.use_non_causal = true; }) ==
          "UNIFORM_BATCH");
  }

  TEST_CASE("what depends on the run is asked with it") {
    const SelectionQuestion question = layer_on({9, 0});
    CHECK(cudagraph_support(catalogue::hpc_attn(), question) ==
          AttentionCGSupport::kUniformSingleTokenDecode);
    CHECK(cudagraph_support(catalogue::hpc_attn(), question, {.num_speculative_tokens = 2}) ==
          AttentionCGSupport::kUniformBatch);
    SelectionQuestion windowed = question;
    windowed.config.has_sliding_window = true;
    const BackendFacts& pair = catalogue::triton_flash_attn();
    CHECK(cudagraph_support(pair, question) == AttentionCGSupport::kUniformSingleTokenDecode);
    CHECK(cudagraph_support(pair, windowed) == AttentionCGSupport::kNever);
    CHECK(cudagraph_support(pair, windowed, {.clamps_window_to_mm_prefix = true}) ==
          AttentionCGSupport::kUniformSingleTokenDecode);
  }

  TEST_CASE("G6: a backend that says nothing cannot be recorded") {
    CHECK(cudagraph_support(BackendFacts{}, layer_on({9, 0})) == AttentionCGSupport::kNever);
  }

  TEST_CASE("a level that is not known is refused with the nearest one") {
    CHECK(cudagraph_support_of("ALWAYS") == AttentionCGSupport::kAlways);
    CHECK_THROWS_WITH_AS(cudagraph_support_of("UNIFORM"),
                         "support is UNIFORM (did you mean UNIFORM_SINGLE_TOKEN_DECODE?); it may "
                         "be one of: NEVER, UNIFORM_SINGLE_TOKEN_DECODE, "
                         "UNIFORM_BATCH, ALWAYS.",
                         Error);
  }
}
