// Choices and refusals that a reader can check by hand, and the traps of other registries.

#include <doctest/doctest.h>

#include "reference/registry/model_shapes.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/random_question.h"
#include "reference/registry/remembered_selections.h"
#include "reference/registry/selection.h"
#include "reference/registry/selector.h"
#include "reference/registry/validate_configuration.h"

using namespace pagelab;

namespace {

constexpr DeviceCapability kA100 = {8, 0}, kL4 = {8, 9}, kH100 = {9, 0}, kB200 = {10, 0};

// Llama-3-8B's layers: 128-wide heads in bfloat16.
SelectionQuestion llama_on(DeviceCapability capability) {
  SelectionQuestion question;
  question.config.head_size = 128;
  question.config.dtype = "bfloat16";
  question.config.kv_cache_dtype = "auto";
  question.capability = capability;
  return question;
}

SelectionQuestion deepseek_on(DeviceCapability capability) {
  SelectionQuestion question = llama_on(capability);
  question.config.head_size = 576;
  question.config.use_mla = true;
  question.num_heads = 128;
  return question;
}

Selection choice_for(const SelectionQuestion& question,
                     const std::optional<std::string>& forced = std::nullopt) {
  static const BackendRegistry kRegistry = BackendRegistry::of_attention();
  return select_attention_backend(question, forced, kRegistry);
}

std::vector<std::string> reasons_against(const Selection& selection, const std::string& name) {
  for (const DeclinedBackend& declined : selection.invalid) {
    if (declined.name == name) return declined.reasons;
  }
  return {};
}

}  // namespace

TEST_SUITE("selection") {
  TEST_CASE("an H100 and an A100 start with FLASH_ATTN and a B200 with FLASHINFER") {
    CHECK(choice_for(llama_on(kA100)).selected == "FLASH_ATTN");
    CHECK(choice_for(llama_on(kH100)).selected == "FLASH_ATTN");
    CHECK(choice_for(llama_on(kB200)).selected == "FLASHINFER");
    SelectionQuestion non_causal = llama_on(kB200);
    non_causal.config.use_non_causal = true;
    CHECK(choice_for(non_causal).selected == "FLASH_ATTN");
  }

  TEST_CASE("G2: the second of two choices does not remember the first") {
    SelectionQuestion with_16 = llama_on(kH100);
    with_16.config.block_size = 16;
    SelectionQuestion open_size = deepseek_on(kH100);
    const Selection first = choice_for(with_16);
    const Selection between = choice_for(open_size, "FLASHMLA");
    const Selection again = choice_for(with_16);
    CHECK(between.selected == "FLASHMLA");
    CHECK(preferred_block_size(*between.facts, open_size, 16) == 64);
    CHECK(preferred_block_size(*again.facts, with_16, 16) == 16);
    CHECK(again.info == first.info);
  }

  TEST_CASE(
      "G2: what is remembered is told apart by record and heads and name and until it is "
      "forgotten") {
    BackendRegistry registry = BackendRegistry::of_attention();
    RememberedSelections memory(registry);
    SelectionQuestion question = llama_on(kH100);
    CHECK_FALSE(memory.select(question, std::nullopt).is_remembered);
    const RememberedSelections::Answer again = memory.select(question, std::nullopt);
    CHECK(again.is_remembered);
    CHECK(again.selection.selected == "FLASH_ATTN");
    // Another backend, another record and another GPU are other questions.
    CHECK(memory.select(question, "TRITON_ATTN").selection.selected == "TRITON_ATTN");
    question.config.has_sliding_window = true;
    CHECK_FALSE(memory.select(question, std::nullopt).is_remembered);
    question.num_heads = 8;
    CHECK_FALSE(memory.select(question, std::nullopt).is_remembered);
    CHECK(memory.select(llama_on(kB200), std::nullopt).selection.selected == "FLASHINFER");
    // What is registered later is not seen before the memory is empty: vLLM's is like that.
    registry.override_path("FLASH_ATTN", "nowhere.module.Nothing");
    CHECK(memory.select(llama_on(kH100), std::nullopt).selection.selected == "FLASH_ATTN");
    memory.forget();
    CHECK(memory.select(llama_on(kH100), std::nullopt).selection.selected == "FLASHINFER");
  }

  TEST_CASE("G3: a block size that nobody takes is refused with the reason of each") {
    SelectionQuestion question = llama_on(kH100);
    question.config.block_size = 8;
    const Selection selection = choice_for(question);
    CHECK_FALSE(selection.selected.has_value());
    REQUIRE(selection.invalid.size() == 5);
    for (const DeclinedBackend& declined : selection.invalid) {
      CAPTURE(declined.name);
      CHECK(declined.reasons.back() == "block_size not supported");
      CHECK(selection.error->message.find(declined.name + ": [") != std::string::npos);
    }
  }

  TEST_CASE("G4: an open block size is filled from the backend and one that was set is refused") {
    SelectionQuestion question = deepseek_on(kH100);
    const Selection open_size = choice_for(question, "FLASHMLA");
    REQUIRE(open_size.selected == "FLASHMLA");
    CHECK(preferred_block_size(*open_size.facts, question, 16) == 64);
    question.config.block_size = 16;
    CHECK(choice_for(question, "FLASHMLA").error->message ==
          "Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. "
          "Reason: ['block_size not supported']");
  }

  TEST_CASE("G5: a cache dtype that the first lacks goes to the second with the reason shown") {
    SelectionQuestion question = llama_on(kL4);
    question.config.kv_cache_dtype = "fp8_e5m2";
    const Selection selection = choice_for(question);
    CHECK(selection.selected == "FLASHINFER");
    // Version 2 of FlashAttention reads no quantised cache, and no version this one.
    CHECK(reasons_against(selection, "FLASH_ATTN") ==
          std::vector<std::string>{
              "kv_cache_dtype not supported",
              "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on "
              "SM100"});
  }

  TEST_CASE("G6: a row that says nothing claims no optional feature") {
    const BackendFacts silent;
    SelectionQuestion question = llama_on(kH100);
    CHECK(validate_configuration(silent, question).empty());
    AttentionSelectorConfig& config = question.config;
    for (bool* flag :
         {&config.use_mla, &config.has_sink, &config.use_sparse, &config.use_mm_prefix,
          &config.use_per_head_quant_scales, &config.has_sliding_window, &config.use_non_causal,
          &config.use_batch_invariant, &config.use_kv_connector, &config.use_pcp,
          &config.use_adaptive_verification, &config.use_dcp, &config.use_rswa}) {
      *flag = true;
      CHECK(validate_configuration(silent, question).size() == 1);
      *flag = false;
    }
  }

  TEST_CASE("G8: every name in a refusal can be pasted back as a choice") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    SelectionQuestion question = llama_on(kH100);
    question.config.use_pcp = true;
    for (const DeclinedBackend& declined : choice_for(question).invalid) {
      CHECK(parse_attention_config(declined.name, {}, registry).backend == declined.name);
    }
    for (const std::string& name : registry.names()) registry.check_member(name);
    CHECK_THROWS_AS(parse_attention_config("FLASH_ATN", {}, registry), RaisedError);
  }

  TEST_CASE("a backend of ones own takes part under its name and gives its reasons") {
    BackendRegistry registry = BackendRegistry::of_attention();
    BackendFacts mine;
    mine.name = "MY_KERNEL";
    mine.path = "course.my_kernel.MyBackend";
    mine.class_name = "MyBackend";
    mine.get_name = "MY_KERNEL";
    mine.head_sizes = HeadSizes{.listed = {64}};
    registry.register_backend("MY_KERNEL", mine);
    CHECK(registry.names().back() == "MY_KERNEL");
    SelectionQuestion question = llama_on(kH100);
    CHECK(select_attention_backend(question, "MY_KERNEL", registry).invalid.front().reasons ==
          std::vector<std::string>{"head_size not supported"});
    question.config.head_size = 64;
    CHECK(select_attention_backend(question, "MY_KERNEL", registry).info ==
          "Using AttentionBackendEnum.MY_KERNEL backend.");
  }

  TEST_CASE(
      "an override puts another class behind a member and clearing it brings the old one back") {
    BackendRegistry registry = BackendRegistry::of_attention();
    BackendFacts mine;
    mine.path = "course.my_kernel.MyBackend";
    mine.class_name = "MyBackend";
    registry.register_backend("CUSTOM", mine);
    CHECK(select_attention_backend(llama_on(kH100), "CUSTOM", registry).facts->class_name ==
          "MyBackend");
    registry.override_path("FLASH_ATTN", "course.my_kernel.MyBackend");
    CHECK(select_attention_backend(llama_on(kH100), std::nullopt, registry).facts->class_name ==
          "MyBackend");
    registry.clear_override("FLASH_ATTN");
    CHECK(select_attention_backend(llama_on(kH100), std::nullopt, registry).facts->class_name ==
          "FlashAttentionBackend");
    registry.override_path("FLASH_ATTN", "nowhere.module.Nothing");
    CHECK(reasons_against(select_attention_backend(llama_on(kH100), std::nullopt, registry),
                          "FLASH_ATTN") ==
          std::vector<std::string>{"ModuleNotFoundError: No module named 'nowhere'"});
  }

  TEST_CASE(
      "sparse latent layers rename their cache dtype where the backend keeps its own format") {
    CHECK(kv_cache_dtype_after_selection("FLASHMLA_SPARSE", "fp8") == "fp8_ds_mla");
    CHECK(kv_cache_dtype_after_selection("FLASHMLA_SPARSE", "auto") == "auto");
    CHECK(kv_cache_dtype_after_selection("FLASHMLA_SPARSE", "nvfp4_ds_mla") == "nvfp4_ds_mla");
    CHECK(kv_cache_dtype_after_selection("FLASHINFER_MLA_SPARSE_SM120", "auto") == "fp8_ds_mla");
    CHECK(kv_cache_dtype_after_selection("FLASHINFER_MLA_SPARSE", "fp8") == "fp8");
  }

  TEST_CASE("every model of the table finds a backend on an H100 and a B200 for all its layers") {
    CHECK(model_shapes().size() >= 20);
    for (const ModelShape& shape : model_shapes()) {
      CAPTURE(shape.name);
      CHECK(&find_model_shape(std::string(shape.name)) == &shape);
      for (const DeviceCapability capability : {kH100, kB200}) {
        for (SelectionQuestion question : questions_of_layers(shape)) {
          question.capability = capability;
          question.config.dtype = "bfloat16";
          question.config.kv_cache_dtype = "auto";
          CHECK(choice_for(question).selected.has_value());
        }
      }
    }
  }

  TEST_CASE("no random question crashes and every backend not chosen has a reason") {
    RandomQuestions questions(20261130);
    const std::vector<std::string> names = BackendRegistry::of_attention().names();
    for (int question_idx = 0; question_idx < 3000; ++question_idx) {
      CAPTURE(question_idx);
      SelectionQuestion question = questions.next();
      if (questions.chance(4)) question.environment.unavailable = {questions.one_of(names)};
      const Selection selection = choice_for(question);
      CHECK(selection.selected.has_value() != selection.error.has_value());
      CHECK(selection.selected.has_value() == !selection.valid.empty());
      for (const DeclinedBackend& declined : selection.invalid) CHECK(!declined.reasons.empty());
      const Selection forced = choice_for(question, questions.one_of(names));
      CHECK(forced.selected.has_value() != forced.error.has_value());
    }
  }
}
