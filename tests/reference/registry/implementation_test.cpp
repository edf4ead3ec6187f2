// What pagelab implements, as rows; how a step asks the registry; and the choice on a CPU.

#include "reference/registry/implementation.h"

#include <doctest/doctest.h>

#include <set>

#include "reference/registry/catalogue.h"
#include "reference/registry/platforms.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/step_question.h"
#include "reference/registry/validate_configuration.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

using Reasons = std::vector<std::string>;

test::RandomStepOptions plain_step() {
  test::RandomStepOptions options;
  options.head_size = options.head_size_v = 8;
  options.num_reqs = 2;
  return options;
}

SelectionQuestion question_of(const test::RandomStepOptions& options) {
  return question_of_step(test::random_step(options, 1));
}

}  // namespace

TEST_SUITE("what pagelab implements") {
  TEST_CASE(
      "G8: every implementation has a name of its own and all but three are named as in vLLM") {
    std::set<std::string> members;
    for (const BackendFacts* row : attention_backends()) members.insert(std::string(row->name));
    std::set<std::string> names;
    Reasons not_of_vllm;
    for (const Implementation& own : implementations()) {
      CHECK(names.insert(own.name).second);
      CHECK(own.takes.name == own.name);
      CHECK_FALSE(own.targets.empty());
      if (members.count(own.name) == 0) not_of_vllm.push_back(own.name);
    }
    CHECK(not_of_vllm == Reasons{"REFERENCE", "REFERENCE_FLOAT", "NAIVE"});
    CHECK(find_implementation("TURBOQUANT") == nullptr);
    CHECK(find_implementation("FLASH_ATTN")->takes.name == "FLASH_ATTN");
  }

  TEST_CASE("a row of pagelab is asked by the same checks as one of vLLM") {
    test::RandomStepOptions options = plain_step();
    options.head_size = 260;
    const SelectionQuestion question = question_of(options);
    CHECK(validate_configuration(find_implementation("FLASH_ATTN")->takes, question) ==
          Reasons{"head_size not supported"});
    CHECK(validate_configuration(find_implementation("NAIVE")->takes, question).empty());
  }
}

TEST_SUITE("the question of a step") {
  TEST_CASE("a plain step asks for nothing but its sizes and types") {
    const SelectionQuestion question = question_of(plain_step());
    CHECK(to_string(question.config) ==
          "AttentionSelectorConfig(head_size=8, dtype=torch.float32, kv_cache_dtype=auto, "
          "block_size=4, use_mla=False, has_sink=False, use_sparse=False, use_mm_prefix=False, "
          "use_per_head_quant_scales=False, attn_type=AttentionType.DECODER, "
          "has_sliding_window=False, use_non_causal=False, use_batch_invariant=False, "
          "use_kv_connector=False, use_adaptive_verification=False, use_pcp=False, use_dcp=False, "
          "use_rswa=False)");
    CHECK(question.model->num_heads == 6);
    CHECK(question.model->num_kv_heads == 2);
  }

  TEST_CASE("every option of a step that the record knows sets its field and no other") {
    test::RandomStepOptions options = plain_step();
    options.dtype = DType::kBFloat16;
    options.kv_cache_dtype = DType::kFp8E5M2;
    options.scales_per_head = true;
    SelectionQuestion question = question_of(options);
    CHECK(question.config.dtype == "bfloat16");
    CHECK(question.config.kv_cache_dtype == "fp8_e5m2");
    CHECK(question.config.use_per_head_quant_scales);

    options = plain_step();
    options.window_left = 3;
    CHECK(question_of(options).config.has_sliding_window);
    options = plain_step();
    options.sinks = true;
    CHECK(question_of(options).config.has_sink);
    options = plain_step();
    options.mm_prefix = true;
    CHECK(question_of(options).config.use_mm_prefix);
    options = plain_step();
    options.causal = false;
    CHECK(question_of(options).config.use_non_causal);
    options = plain_step();
    options.logit_softcap = 30.0;
    question = question_of(options);
    CHECK(question.model->attn_logit_softcapping == 30.0);
    CHECK_FALSE(question.config.has_sink);
    options = plain_step();
    options.attn_type = AttnType::kEncoderOnly;
    question = question_of(options);
    CHECK(question.config.attn_type == AttentionType::kEncoderOnly);
    CHECK_FALSE(question.config.use_non_causal);
  }
}

// spec of vLLM's CPU platform: a fixed rule, and no check of the layer.
TEST_SUITE("the choice on a CPU") {
  TEST_CASE("CPU_ATTN takes every ordinary layer and nothing is logged") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    SelectionQuestion question = question_of(plain_step());
    question.config.block_size = 3;
    question.config.head_size = 7;
    const Selection choice =
        select_attention_backend_on_cpu(question, std::nullopt, true, registry);
    CHECK(choice.selected == "CPU_ATTN");
    CHECK_FALSE(choice.info.has_value());
    CHECK_FALSE(choice.warning.has_value());
  }

  TEST_CASE("a latent layer goes to AMX_MLA where there are tiles unless CPU_MLA is asked for") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    SelectionQuestion question;
    question.config.use_mla = true;
    const auto choice = [&](const std::optional<std::string>& asked_for, bool has_amx_tiles) {
      return select_attention_backend_on_cpu(question, asked_for, has_amx_tiles, registry);
    };
    CHECK(choice(std::nullopt, true).selected == "AMX_MLA");
    CHECK(choice("CPU_MLA", true).selected == "CPU_MLA");
    CHECK(choice(std::nullopt, false).selected == "CPU_MLA");
    CHECK(choice(std::nullopt, false).info == "Using CPU_MLA backend.");
    CHECK_THROWS_AS(choice("CPU_ATN", false), RaisedError);
  }

  TEST_CASE("another backend is replaced with a line in the log and a sparse layer is refused") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    SelectionQuestion question;
    const Selection replaced =
        select_attention_backend_on_cpu(question, "FLASH_ATTN", false, registry);
    CHECK(replaced.selected == "CPU_ATTN");
    CHECK(replaced.warning == "Cannot use AttentionBackendEnum.FLASH_ATTN backend on CPU.");
    question.config.use_sparse = true;
    const Selection refused =
        select_attention_backend_on_cpu(question, std::nullopt, false, registry);
    CHECK_FALSE(refused.selected.has_value());
    CHECK(refused.error->kind == "NotImplementedError");
    CHECK(refused.error->message == "Sparse Attention is not supported on CPU.");
  }
}
