// pagelab generate, as a script calls it.

#include <doctest/doctest.h>

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
    // 'Hi' takes one block of 4 and 'So be it' would take three of the two that are left.
    CHECK(run.output.find("step 0: 0 decode + 2 prefill tokens, 1 blocks in use, 2 waiting\n") !=
          std::string::npos);
    // Then it takes all three, and 'Go' waits until its 8 prompt tokens and 2 more are computed.
    CHECK(run.output.find("step 3: 0 decode + 4 prefill tokens, 3 blocks in use, 1 waiting\n") !=
          std::string::npos);
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
        "request 0 can never run: its 2 prompt tokens and 16 new ones need 2 blocks of "
        "16 tokens, and the pool has 1 besides the null block. num_blocks must be 3 at "
        "least.");
    check_generate_refuses("--prompt Hi --block-size 0",
                           "block_size is 0; it must be from 1 to 1073741824.");
    check_generate_refuses("--prompt Hi --block-order-seed -1",
                           "--block-order-seed is -1; it must be 0 or more.");
    check_generate_refuses(
        "--prompt-ids 3,x",
        "--prompt-ids 3,x: 'x' is not a token id; write integers with commas between "
        "them.");
  }
}
