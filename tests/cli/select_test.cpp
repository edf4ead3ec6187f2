// pagelab select as a user meets it.

#include <doctest/doctest.h>

#include <string>

#include "tests/cli/refusal.h"
#include "tests/support/run_command.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::run_pagelab;

namespace {

// The choice's own line, which comes first.
std::string first_line_of_select(const std::string& arguments) {
  const std::string output = run_pagelab("select " + arguments).output;
  return output.substr(0, output.find('\n'));
}

}  // namespace

TEST_SUITE("pagelab select") {
  TEST_CASE("a newcomer learns which backend serves a model on a GPU") {
    CHECK(first_line_of_select("--model llama-3-8b --gpu h100") ==
          "full_attention on 9.0: FLASH_ATTN, blocks of 16");
    CHECK(first_line_of_select("--model llama-3-8b --gpu B200") ==
          "full_attention on 10.0: FLASHINFER, blocks of 16");
    CHECK(first_line_of_select("--model deepseek-v3 --gpu 9.0 --kv-cache-dtype fp8") ==
          "mla_attention on 9.0: FLASHMLA, blocks of 64");
    // Both kinds of its layers have sinks, which version 2 of FlashAttention lacks.
    const CommandResult run = run_pagelab("select --model gpt-oss-20b --gpu a100");
    CHECK(run.output.find("full_attention on 8.0: TRITON_ATTN") != std::string::npos);
    CHECK(run.output.find("sliding_window on 8.0: TRITON_ATTN") != std::string::npos);
  }

  TEST_CASE("explain says why not and what would help") {
    const CommandResult run =
        run_pagelab("select --head-size 128 --gpu l4 --kv-cache-dtype fp8_e5m2 --explain");
    CHECK(run.exit_status == 0);
    CHECK_MESSAGE(run.output.find("    FLASH_ATTN is not:\n"
                                  "      kv_cache_dtype not supported\n"
                                  "        would go away with: --kv-cache-dtype auto, float16 or "
                                  "bfloat16\n") != std::string::npos,
                  run.output);
    CHECK(run.output.find("FLASHINFER is valid, chosen\n") != std::string::npos);
    CHECK(run.output.find("  DEBUG Some attention backends are not valid for cuda with "
                          "AttentionSelectorConfig(") != std::string::npos);
    CHECK(run.output.find("(asked again by another layer, the answer is remembered") !=
          std::string::npos);
    CHECK(run.output.find("      all of them would go away with: --kv-cache-dtype auto\n") !=
          std::string::npos);
    // FLASHMLA pages with 64 tokens, reads no e5m2 and runs on Hopper and data-centre Blackwell.
    const CommandResult three = run_pagelab(
        "select --model deepseek-v3 --gpu l4 --kv-cache-dtype fp8_e5m2 --block-size 16 "
        "--attention-backend FLASHMLA --explain");
    CHECK_MESSAGE(three.output.find("      all of them would go away with: --kv-cache-dtype auto "
                                    "and no --block-size and a GPU of 9.0\n") != std::string::npos,
                  three.output);
  }

  TEST_CASE("explain says which version of FlashAttention a GPU leads to") {
    const auto explained = [](const char* gpu) {
      return run_pagelab(std::string("select --model llama-3-8b --explain --gpu ") + gpu).output;
    };
    CHECK(explained("a100").find("FLASH_ATTN is valid, with FlashAttention 2, chosen\n") !=
          std::string::npos);
    CHECK(explained("h100").find("FLASH_ATTN is valid, with FlashAttention 3, chosen\n") !=
          std::string::npos);
    CHECK(explained("b200").find("FLASH_ATTN is valid, with FlashAttention 4\n") !=
          std::string::npos);
  }

  TEST_CASE("a GPU that vLLM does not start on in bfloat16 is answered with a note") {
    const std::string note = "NOTE vLLM does not get this far: its worker refuses bfloat16";
    const std::string on_t4 = "select --model llama-3-8b --gpu t4";
    CHECK(run_pagelab(on_t4).output.find(note) != std::string::npos);
    CHECK(run_pagelab(on_t4 + " --dtype float16").output.find(note) == std::string::npos);
    CHECK(run_pagelab("select --model llama-3-8b --gpu a100").output.find(note) ==
          std::string::npos);
  }

  TEST_CASE("a layer that nobody serves sets the exit status and every candidate has its reason") {
    const CommandResult run = run_pagelab("select --model llama-3-8b --gpu h100 --block-size 8");
    CHECK(run.exit_status == 1);
    CHECK(run.output.find("ValueError: No valid attention backend found") != std::string::npos);
    CHECK(run.output.find("--explain says of every reason") != std::string::npos);
    CHECK(run_pagelab("select --head-size 64 --gpu h100 --attention-backend NO_ATTENTION --explain")
              .exit_status == 1);
    CHECK(run_pagelab("select --head-size 64 --gpu h100 --attention-backend custom").exit_status ==
          1);
  }

  TEST_CASE("json holds every kind of layer with candidates and reasons") {
    const CommandResult run = run_pagelab("select --model gemma-3-4b --gpu h100 --json");
    CHECK(run.exit_status == 0);
    CHECK(run.output.find(R"("kind": "full_attention")") != std::string::npos);
    CHECK(run.output.find(R"("kind": "sliding_window")") != std::string::npos);
    CHECK(run.output.find(R"("selected": "TRITON_FLASH_ATTN")") != std::string::npos);
  }

  TEST_CASE("on a CPU the choice asks nobody and what is not modelled is refused by name") {
    CHECK(first_line_of_select("--model llama-3-8b --platform cpu") ==
          "full_attention on cpu: CPU_ATTN, blocks of 32");
    CHECK(first_line_of_select("--model deepseek-v3 --platform cpu --amx") ==
          "mla_attention on cpu: AMX_MLA, blocks of 32");
    const CommandResult replaced =
        run_pagelab("select --model llama-3-8b --platform cpu --attention-backend FLASH_ATTN");
    CHECK(replaced.output.find("  WARNING Cannot use AttentionBackendEnum.FLASH_ATTN backend on "
                               "CPU.\n") != std::string::npos);
    const CommandResult sparse = run_pagelab("select --model deepseek-v3.2 --platform cpu");
    CHECK(sparse.exit_status == 1);
    CHECK(sparse.output.find("NotImplementedError: Sparse Attention is not supported on CPU.") !=
          std::string::npos);
    check_refusal("select --model llama-3-8b --platform rocm", "pagelab answers for cuda and cpu");
    check_refusal("select --model llama-3-8b --platform tpu", "--platform is tpu");
    check_refusal("select --model llama-3-8b --platform cpu --gpu h100",
                  "--gpu h100 would have no");
    check_refusal("select --model llama-3-8b --gpu h100 --amx", "it needs --platform cpu");
  }

  TEST_CASE("what is missing or misspelt or said twice is refused in one sentence") {
    check_refusal("select --gpu h100", "select needs a layer");
    check_refusal("select --head-size 64", "select needs a GPU");
    check_refusal("select --model llama-3-8 --gpu h100", "did you mean llama-3-8b?");
    check_refusal("select --model llama3 --gpu h100", "did you mean llama-3-8b?");
    check_refusal("select --head-size 64 --gpu h100 --dtype fp16", "did you mean float16?");
    check_refusal("select --head-size 64 --gpu h100 --dtype BF16", "did you mean bfloat16?");
    check_refusal("select --model llama-3-8b --gpu h1000", "did you mean h100?");
    check_refusal("select --model llama-3-8b --gpu h10", "did you mean h100?");
    check_refusal("select --model llama-3-8b --gpu h100 --use-mla", "leave --use-mla out");
    check_refusal("select --head-size 128 --gpu h100 --num-heads 32", "--num-heads 32 counts for");
    check_refusal("select --model llama-3-8b --head-size 64 --gpu h100", "leave --head-size");
    check_refusal("select --head-size 0 --gpu h100", "--head-size is 0; it may be 1 to");
    check_refusal("select --head-size 64 --gpu h100 --block-size -16", "--block-size is -16");
    check_refusal("select --head-size 64 --gpu h100 --kv-cache-dtype fp9", "did you mean fp8");
    check_refusal("select --head-size 64 --gpu h100 --dtype half", "--dtype is half");
    check_refusal("select --head-size 64 --gpu h100 --attn-type encode", "did you mean encoder?");
    check_refusal("select --head-size 64 --gpu h100 --without FLASHATTN",
                  "did you mean FLASH_ATTN");
    check_refusal("select --head-size 64 --gpu h100 --attention-backend FLASH_ATN",
                  "did you mean FLASH_ATTN?");
    check_refusal(
        "select --head-size 64 --gpu h100 --attention-backend auto --attention-config.backend auto",
        "say the same thing twice");
  }
}
