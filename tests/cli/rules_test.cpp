// Whose rules count: pagelab's own, or with --as-vllm those of vLLM's backend; and the automatic choice.

#include <doctest/doctest.h>

#include <string>

#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::run_pagelab;

namespace {

std::string step_to_judge(const std::string& name) {
  return "'" + (test::golden_dir() / "steps" / name).string() + "'";
}

std::string text_of_model(const std::string& options) {
  return "generate --model '" +
         (test::source_dir() / "reference" / "model" / "tiny_llama").string() +
         "' --max-tokens 10 --prompt 'ROMEO:\n' " + options;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("whose rules count") {
  TEST_CASE("attend takes a step by its own rules and refuses it by those of vLLM") {
    // The step's blocks are no multiple of 16, so nobody in vLLM takes it; nor does FLASH_ATTN take float32.
    const std::string float32 = step_to_judge("000_chunked_none_float32");
    CHECK(run_pagelab("attend " + float32 + " --backend FLASH_ATTN").exit_status == 0);
    check_refusal("attend " + float32 + " --backend FLASH_ATTN --as-vllm",
                  "Selected backend AttentionBackendEnum.FLASH_ATTN is not valid for this "
                  "configuration. Reason: ['dtype not supported', 'block_size not supported']");
    check_refusal("attend " + float32 + " --as-vllm", "No valid attention backend found for cuda");
    check_refusal("attend " + float32 + " --backend NAIVE --as-vllm",
                  "NAIVE is none of vLLM's backends");
    check_refusal("attend " + float32 + " --backend FLASH_ATTN --gpu b200",
                  "--gpu has no effect on FLASH_ATTN");
    check_refusal("attend " + float32 + " --backend FLASH_ATTN --as-vllm --gpu h1000",
                  "did you mean h100?");
  }

  TEST_CASE("compare by the rules of vLLM has the reasons of each backend in its row") {
    const CommandResult run = run_pagelab("compare " + step_to_judge("010_prefill_sinks_float16") +
                                          " --as-vllm --gpu a100");
    CHECK(run.exit_status == 0);
    CHECK(says(run.output, "NAIVE            simulator"));
    CHECK(says(run.output,
               "AttentionBackendEnum.FLEX_ATTENTION is not valid for this "
               "configuration. Reason: ["));
    CHECK(says(run.output, "'attention sinks not supported'"));
    check_refusal("compare " + step_to_judge("010_prefill_sinks_float16") + " --gpu a100",
                  "--gpu a100 has no effect");
  }

  TEST_CASE("measure by the rules of vLLM names who would decline the shape") {
    const CommandResult run = run_pagelab(
        "measure attention --target cpu --shapes decode:1x16 --num-query-heads 2 --num-kv-heads 1 "
        "--head-size 32 --block-size 8 --as-vllm");
    CHECK(run.exit_status == 0);
    CHECK(says(run.output, "AttentionBackendEnum.CPU_ATTN is not valid"));
    CHECK(says(run.output, "block_size not supported"));
  }
}

// Every way to choose works or is refused, and who was chosen is printed: the three options of select, the
// option of attend and generate, and no variable.
TEST_SUITE("G1: ways to choose") {
  TEST_CASE("every option that names a backend is honoured and says so") {
    for (const std::string option :
         {"--attention-backend TRITON_ATTN", "--attention-backend triton_attn",
          "--attention-config.backend TRITON_ATTN"}) {
      const CommandResult run = run_pagelab("select --model llama-3-8b --gpu h100 " + option);
      CHECK(run.exit_status == 0);
      CHECK(says(run.output, "INFO Using AttentionBackendEnum.TRITON_ATTN backend.\n"));
    }
    CHECK(says(run_pagelab("select --model llama-3-8b --gpu h100 --attention-backend auto").output,
               "INFO Using FLASH_ATTN attention backend out of potential backends: "));
    CHECK(
        says(run_pagelab(text_of_model("--backend FLASH_ATTN")).output, "FLASH_ATTN on simulator"));
    check_refusal(text_of_model("--backend FLASH_ATN"), "did you mean FLASH_ATTN?");
  }

  TEST_CASE("a variable that nobody reads is named with those that are read") {
    const auto with = [](const std::string& variable) {
      return test::run_command("env " + variable + " " + test::pagelab_program() + " --version")
          .output;
    };
    CHECK(says(with("PAGELAB_CORE=2"),
               "warning: PAGELAB_CORE is not read (did you mean PAGELAB_CORES?); the variables are "
               "PAGELAB_CORES, PAGELAB_SOURCE_DIR, "));
    CHECK(says(with("VLLM_ATTENTION_BACKEND=FLASHINFER"),
               "warning: VLLM_ATTENTION_BACKEND is not read; select takes --attention-backend"));
    CHECK_FALSE(says(with("PAGELAB_CORES=2"), "warning"));
  }
}

TEST_SUITE("automatic choice") {
  TEST_CASE("generate on the simulator logs the line that vLLM logs and the text is the same") {
    const CommandResult run = run_pagelab(text_of_model("--target simulator"));
    CHECK(run.exit_status == 0);
    CHECK(says(run.output,
               "INFO Using TRITON_ATTN attention backend out of potential backends: "
               "['TRITON_ATTN', 'FLEX_ATTENTION'].\n"));
    CHECK(says(run.output, "ROMEO:\n|The senate\n"));
    CHECK(says(run.output, "TRITON_ATTN on simulator"));
  }

  TEST_CASE(
      "without a GPU the choice is that of a CPU and another GPU's rules run in the simulator") {
    CHECK(
        says(run_pagelab(text_of_model("--target cpu --block-size 3")).output, "CPU_ATTN on cpu"));
    const CommandResult on_turing = run_pagelab(text_of_model("--gpu t4 --json"));
    CHECK(on_turing.exit_status == 0);
    CHECK(says(on_turing.output, "\"INFO Using TRITON_ATTN attention backend"));
    check_refusal(text_of_model("--target cpu --gpu t4"), "target cpu is no GPU");
  }

  TEST_CASE("G3: a block size that nobody in vLLM takes is refused with every reason") {
    check_refusal(text_of_model("--target simulator --block-size 8"),
                  "TRITON_ATTN: [block_size not supported]");
    check_refusal(text_of_model("--backend FLASHINFER --as-vllm"),
                  "AttentionBackendEnum.FLASHINFER is not valid for this configuration. Reason: "
                  "['head_size not supported', 'dtype not supported']");
  }
}
