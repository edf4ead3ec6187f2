// pagelab generate, as a script calls it.

#include <doctest/doctest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::CommandResult;
using test::run_pagelab;

namespace {

std::filesystem::path model_folder() {
  return test::source_dir() / "reference" / "model" / "tiny_llama";
}

std::string arguments_of(const std::string& options) {
  return "generate --model '" + model_folder().string() + "' " + options;
}

CommandResult generate(const std::string& options) { return run_pagelab(arguments_of(options)); }

nlohmann::json golden_texts() {
  std::ifstream stream(model_folder() / "golden_greedy.json");
  return nlohmann::json::parse(stream);
}

/// A text in the shell's single quotes; none of the prompts holds one.
std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// Exit status 2, nothing on stdout, one sentence on stderr that names what is wrong.
void check_generate_refuses(const std::string& options, const std::string& sentence) {
  const CommandResult run = generate(options);
  CHECK(run.exit_status == 2);
  CHECK(run.output == sentence + "\n");
  CHECK(test::standard_output_of_pagelab(arguments_of(options)) == "");
}

}  // namespace

TEST_SUITE("generate") {
  TEST_CASE("the JSON document holds the golden tokens of every prompt in order") {
    const nlohmann::json golden = golden_texts();
    std::string options = "--json --max-tokens 40 --block-size 3 --num-blocks 60 --prompt";
    for (const nlohmann::json& text : golden) options += " " + quoted(text["prompt"]);
    for (const std::string backend : {"REFERENCE", "NAIVE"}) {
      const CommandResult run = generate(options + " --backend " + backend);
      REQUIRE(run.exit_status == 0);
      const nlohmann::json document = nlohmann::json::parse(run.output);
      CHECK(document["backend"] == backend);
      CHECK(document["target"] == (backend == "NAIVE" ? "simulator" : "cpu"));
      CHECK(document["block_size"] == 3);
      CHECK(document["num_blocks"] == 60);
      REQUIRE(document["requests"].size() == golden.size());
      for (std::size_t i = 0; i < golden.size(); ++i) {
        const std::vector<std::int32_t> all_ids = golden[i]["output_ids"];
        const std::vector<std::int32_t> first_ids(all_ids.begin(), all_ids.begin() + 40);
        const nlohmann::json& request = document["requests"][i];
        CHECK(request["prompt"] == golden[i]["prompt"]);
        CHECK(request["token_ids"] == first_ids);
        CHECK(request["text"] == golden[i]["output"].get<std::string>().substr(0, 40));
        CHECK(request["min_top2_gap"] >= golden[i]["min_top2_gap"].get<double>() - 1e-5);
        CHECK(request["finish_reason"] == "length");
      }
    }
  }

  TEST_CASE("prompts may come one by one and from a file and as token ids") {
    const test::ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "prompt.txt";
    std::ofstream(file) << "ROMEO:\n";
    const CommandResult run =
        generate("--json --max-tokens 5 --prompt 'JULIET:\nO ' --prompt 'To be' --prompt-file '" +
                 file.string() + "' --prompt-ids 30,27,25,17,27,10,0");
    REQUIRE(run.exit_status == 0);
    const nlohmann::json requests = nlohmann::json::parse(run.output)["requests"];
    REQUIRE(requests.size() == 4);
    CHECK(requests[0]["prompt"] == "JULIET:\nO ");
    CHECK(requests[1]["prompt"] == "To be");
    CHECK(requests[2]["prompt"] == "ROMEO:\n");
    CHECK(requests[3]["prompt"] == "ROMEO:\n");
    CHECK(requests[3]["token_ids"] == requests[2]["token_ids"]);
    CHECK(requests[2]["text"] == "The s");  // golden_greedy.json
  }

  TEST_CASE("without JSON the text stands behind its prompt") {
    const CommandResult run = generate("--max-tokens 10 --prompt 'ROMEO:\n'");
    CHECK(run.exit_status == 0);
    CHECK(run.output.find("ROMEO:\n|The senate\n") != std::string::npos);
  }

  TEST_CASE("the steps show requests waiting for blocks and chunks next to decodes") {
    const CommandResult run = generate(
        "--show-steps --max-tokens 3 --num-blocks 4 --block-size 4 --max-num-batched-tokens 4 "
        "--prompt 'Hi' 'So be it' 'Go'");
    CHECK(run.exit_status == 0);
    // The 2 tokens of 'Hi', and 2 of the 8 of 'So be it': a block of 4 for each. 'Go' has to wait.
    CHECK(run.output.find("step 0: 0 decode + 4 prefill tokens, 2 blocks in use, 1 waiting\n") !=
          std::string::npos);
    CHECK(run.output.find("step 1: 1 decode + 3 prefill tokens, 3 blocks in use, 1 waiting\n") !=
          std::string::npos);
    // 'Hi' has ended, and the ninth token of 'So be it' takes its block.
    CHECK(run.output.find("step 3: 1 decode + 0 prefill tokens, 3 blocks in use, 1 waiting\n") !=
          std::string::npos);
  }

  TEST_CASE("what of the engine was in use is printed and the text stays") {
    const std::string prompts = " --max-tokens 10 --prompt 'First Citizen:\nBefore we' 'ROMEO:\n'";
    const auto run_with = [&](const std::string& options) {
      const CommandResult run = generate(prompts + " --backend REFERENCE " + options);
      CHECK(run.exit_status == 0);
      CHECK(run.output.find("ROMEO:\n|The senate\n") != std::string::npos);
      return run.output;
    };
    const auto shows = [](const std::string& output, const std::string& line) {
      return output.find(line) != std::string::npos;
    };
    // The first prompt has 24 tokens. Once more, its last token is computed again, in a block of 8.
    const std::string twice = run_with("--prompt 'First Citizen:\nBefore we' --block-size 8");
    CHECK(shows(twice, "prefix caching: 16 tokens found instead of computed\npreemptions: 0\n"));
    const std::string without = run_with("--no-enable-prefix-caching");
    CHECK_FALSE(shows(without, "prefix caching"));
    // 24 + 9 and 7 + 9 tokens are stored, 5 + 2 blocks of 8 in the end, and 6 are there.
    CHECK(shows(run_with("--block-size 8 --num-gpu-blocks-override 7"), "preemptions: 1\n"));
    // Decodes of two requests fit a graph of two tokens; the first step has 31 tokens, and a graph 32.
    CHECK(shows(run_with("--cudagraph-mode FULL_AND_PIECEWISE"),
                "CUDA graphs, FULL_AND_PIECEWISE: 9 steps FULL, 1 PIECEWISE, 0 NONE; 1 tokens of "
                "padding\n"));
    CHECK(shows(
        run_with("--cascade"),
        "cascade attention: 0 of 10 steps\n  none: where most could be saved, by the texts' equal "
        "beginnings, the common prefix has 0 tokens, fewer than 256.\n"));
    // Twice the same text: 24 tokens and 8 that were written lie before the last step, two blocks of 16.
    const std::string alike = "'First Citizen:\nBefore we'";
    const CommandResult two =
        generate("--max-tokens 10 --backend REFERENCE --cascade --prompt " + alike + " " + alike);
    CHECK(shows(two.output, "the common prefix has 32 tokens, fewer than 256.\n"));
    CHECK(shows(run_with("--no-enable-chunked-prefill"), " tokens in 10 steps, "));
    CHECK(shows(run_with("--max-num-batched-tokens 16"), " tokens in 11 steps, "));
    CHECK(shows(run_with("--max-num-seqs 1"), " tokens in 20 steps, "));
  }

  TEST_CASE("a backend that vLLM records no graphs of lowers the mode with a warning") {
    const CommandResult run = generate(
        "--max-tokens 3 --prompt Hi --backend CPU_ATTN --cudagraph-mode FULL_AND_PIECEWISE");
    CHECK(run.exit_status == 0);
    CHECK(run.output.find("WARNING CUDAGraphMode.FULL_AND_PIECEWISE is not supported with "
                          "CPUAttentionBackend backend") != std::string::npos);
    CHECK(run.output.find("it would take a backend whose support is ") != std::string::npos);
    CHECK(run.output.find("CUDA graphs, PIECEWISE: ") != std::string::npos);
  }

  TEST_CASE(
      "a target that runs kernels replays what it recorded and a CPU says that it has nothing to") {
    const std::string options =
        "--max-tokens 10 --prompt 'First Citizen:\nBefore we' 'ROMEO:\n' --cudagraph-mode "
        "FULL_AND_PIECEWISE ";
    const CommandResult run = generate("--json --backend FLASH_ATTN --target simulator " + options);
    REQUIRE(run.exit_status == 0);
    const nlohmann::json document = nlohmann::json::parse(run.output);
    CHECK(document["requests"][1]["text"] == "The senate");
    // 1, 2, 4, 8, 16, 24, ... 64 tokens: 11 FULL graphs of 4 · 16 + 2 launches, and 11 times 5 pieces of 4 · 13 + 2.
    CHECK(document["recorded"]["num_steps"] == 22);
    CHECK(document["recorded"]["num_graphs"] == 11 + 11 * 5);
    CHECK(document["recorded"]["num_launches"] == 11 * 66 + 11 * 54);
    // The first step has 31 tokens of prompts; nine of two decodes follow.
    CHECK(document["num_steps_of_mode"] ==
          nlohmann::json{{"NONE", 0}, {"PIECEWISE", 1}, {"FULL", 9}});
    CHECK(document["num_replayed_graphs"] == 9 + 5);
    CHECK(document["num_replayed_launches"] == 9 * 66 + 54);

    CHECK(
        generate("--backend FLASH_ATTN --target simulator " + options)
            .output.find("recorded at the start: 22 kinds of step, as 66 graphs of 1320 launches; "
                         "replayed: 14 graphs of 648 launches\n") != std::string::npos);
    CHECK(generate("--backend REFERENCE " + options)
              .output.find(
                  "nothing was recorded, because REFERENCE on cpu has no launches to record: "
                  "steps were padded to their graphs' sizes, and computed\n") != std::string::npos);
  }

  TEST_CASE("eight prompts that begin with the same 256 tokens decode in a cascade") {
    std::string options = "--json --max-tokens 5 --backend REFERENCE --cascade --num-sms 1";
    const nlohmann::json text = golden_texts()[1];  // 67 tokens of a prompt, and 240 that follow
    for (int more = 193; more < 201; ++more) {
      std::vector<int> ids = text["prompt_ids"];
      const std::vector<int> output_ids = text["output_ids"];
      ids.insert(ids.end(), output_ids.begin(), output_ids.begin() + more);
      options += fmt::format(" --prompt-ids {}", fmt::join(ids, ","));
    }
    const CommandResult run = generate(options);
    REQUIRE(run.exit_status == 0);
    const nlohmann::json document = nlohmann::json::parse(run.output);
    CHECK(document["num_cascade_steps"] > 0);
    CHECK(document["num_hit_tokens"] == 7 * 256);
    for (int index = 0; index < 8; ++index) {
      const std::vector<int> all_ids = text["output_ids"];
      const std::vector<int> expected(all_ids.begin() + 193 + index, all_ids.begin() + 198 + index);
      CHECK(document["requests"][index]["token_ids"] == expected);
    }
  }

  TEST_CASE("a prompt is taken as it is and not split like a list") {
    check_generate_refuses(
        "--prompt '[A,B]'",
        "character '[' at position 0 of the text is none of the model's 65 tokens.");
  }

  TEST_CASE("what is wrong with the request is said in one sentence") {
    check_generate_refuses(
        "",
        "there is no prompt: give --prompt TEXT, --prompt-file FILE or --prompt-ids "
        "LIST.");
    check_generate_refuses("--prompt ''",
                           "the prompt of request 0 is empty; it must have a token.");
    check_generate_refuses("--prompt Hi --max-tokens 0", "max_tokens is 0; it must be 1 or more.");
    check_generate_refuses(
        "--prompt Hi --max-tokens 1023",
        "request 0 has 2 prompt tokens and asks for 1023 more, but the model has 1024 "
        "positions.");
    check_generate_refuses(
        "--prompt Hi --num-blocks 1",
        "num_blocks is 1; it must be from 2 (the null block and one for tokens) to "
        "2147483647.");
    check_generate_refuses(
        "--prompt Hi --num-blocks 2 --max-tokens 16",
        "request 0 can never run: its 17 tokens need 2 blocks of 16, but 1 exist (num_blocks 2, "
        "the null block included).");
    check_generate_refuses("--prompt Hi --block-size 0", "block_size is 0; it must be at least 1.");
    check_generate_refuses("--prompt Hi --max-num-seqs 0",
                           "max_num_seqs is 0; it must be at least 1.");
    check_generate_refuses("--prompt Hi --num-sms 4",
                           "--num-sms 4 has no effect without --cascade.");
    check_generate_refuses(
        "--prompt Hi --cascade --backend CPU_ATTN",
        "--cascade: CPU_ATTN has no cascade attention; REFERENCE, REFERENCE_FLOAT, FLASH_ATTN and "
        "FLASHINFER have.");
    check_generate_refuses(
        "--prompt Hi --no-enable-chunked-prefill --max-num-batched-tokens 64",
        "max_num_batched_tokens is 64, and without enable_chunked_prefill a prompt of up to "
        "max_model_len 1024 tokens would never fit a step.");
    check_generate_refuses("--prompt Hi --block-order-seed -1",
                           "--block-order-seed is -1; it must be 0 or more.");
    check_generate_refuses(
        "--prompt-ids 3,",
        "--prompt-ids 3,: '' is not a token id; write integers with commas between "
        "them.");
    check_generate_refuses(
        "--prompt-ids 3,x",
        "--prompt-ids 3,x: 'x' is not a token id; write integers with commas between "
        "them.");
  }
}
