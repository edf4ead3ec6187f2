// pagelab simulate as a user meets it.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/refusal.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::check_refusal;
using test::run_pagelab;

namespace {

// Twelve requests at once: 513 tokens that all begin with the same 512, and 4 output tokens.
std::string shared_prefix_trace(const test::ScratchFolder& folder) {
  const std::filesystem::path path = folder.path() / "shared.jsonl";
  std::ofstream file(path);
  for (int own = 1; own <= 12; ++own) {
    file << R"({"timestamp": 0, "input_length": 513, "output_length": 4, "hash_ids": [0, )" << own
         << "]}\n";
  }
  return path.string();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("pagelab simulate") {
  TEST_CASE("a trace is served and its hits and steps are printed") {
    const test::ScratchFolder folder;
    const test::CommandResult run = run_pagelab("simulate " + shared_prefix_trace(folder) +
                                                " --num-blocks 100 --no-async-scheduling");
    CHECK(run.exit_status == 0);
    // Eleven of twelve find 512 tokens: 5632 of 6156. The first step has them all; then 12 decode, three times.
    CHECK_MESSAGE(holds(run.output, "hit rate    91.49 %: 5632 of 6156 prompt tokens"), run.output);
    CHECK(holds(run.output, "steps: 4; 3 decode only, 1 mixed, 0 prefill only"));
    CHECK(holds(run.output, "FULL               3 steps (75.0 %), 36 tokens and 12 of padding"));
    CHECK(holds(run.output, "preemptions none"));
    CHECK(holds(run.output, "rules of h200: FLASH_ATTN"));
  }

  TEST_CASE("Y6 the pool is given in blocks and tokens and bytes with the formula") {
    const test::ScratchFolder folder;
    // A block of Llama 3.1 8B: 32 layers x 2 x 16 tokens x 8 heads x 128 x 2 bytes = 2 MiB.
    CHECK(holds(run_pagelab("simulate " + shared_prefix_trace(folder) + " --kv-memory 1").output,
                "pool        512 blocks of 16 tokens = 8192 tokens, 1073741824 bytes: 1073741824 "
                "bytes / 2097152 a block = 512"));
  }

  TEST_CASE(
      "S1 the bytes of a shared prefix are given flat and in a cascade and when it does not pay") {
    const test::ScratchFolder folder;
    // 12 requests decode three times behind 513, 514 and 515 tokens; the first step, where eleven of them have
    // one token, too, does not share yet. A token is 32 layers x 4096 bytes.
    //   flat     12 x (514 + 515 + 516) x 131,072 = 2.430 GB;   cascade  less 3 x 11 x 512 x 131,072 = 2.215 GB: 0.215 GB
    // The rule compares 4 waves with ceil(12 x 8 x 4 / SMs): 3 on 132 multiprocessors, 6 on 64.
    const std::string command = "simulate " + shared_prefix_trace(folder) +
                                " --num-blocks 100 --cascade --no-async-scheduling";
    const std::string declined = run_pagelab(command).output;
    CHECK_MESSAGE(holds(declined, "used               0 steps"), declined);
    CHECK(
        holds(declined,
              "does not pay       3 steps (75.0 %), whose decodes read 2.430 GB of keys and values "
              "flat, 0.215 in a cascade"));
    const std::string used = run_pagelab(command + " --num-sms 64").output;
    CHECK_MESSAGE(holds(used,
                        "used               3 steps (75.0 %), whose decodes read 2.430 GB of keys "
                        "and values flat, 0.215 in a cascade"),
                  used);
    CHECK(holds(used, "the first, with cascade attention"));
  }

  TEST_CASE("vLLM's own names of options are understood") {
    const test::ScratchFolder folder;
    const std::string command = "simulate " + shared_prefix_trace(folder);
    const std::string run =
        run_pagelab(command + " --num-gpu-blocks-override 100 --disable-cascade-attn").output;
    CHECK_MESSAGE(holds(run, "pool        100 blocks"), run);
    CHECK(holds(run, "runner      the second"));
    // Two prompts of 400 tokens and 600 a step: the first and half of the second; or one, then its decode and the other.
    const std::filesystem::path path = folder.path() / "two.jsonl";
    std::ofstream(path)
        << R"({"timestamp": 0, "input_length": 400, "output_length": 4, "hash_ids": [0]})"
           "\n"
        << R"({"timestamp": 0, "input_length": 400, "output_length": 4, "hash_ids": [1]})"
           "\n";
    const std::string two = "simulate " + path.string() +
                            " --no-async-scheduling --max-num-batched-tokens 600 --max-model-len ";
    const auto most_tokens = [](const std::string& command) {
      const std::string output = run_pagelab(command).output;
      const std::size_t row = output.find("tokens of a step");
      const std::string line = output.substr(row, output.find('\n', row) - row);
      return line.substr(line.rfind(' ') + 1);
    };
    CHECK(most_tokens(two + "600 --enable-chunked-prefill") == "600");
    CHECK(most_tokens(two + "600 --no-enable-chunked-prefill") == "401");
    check_refusal(two + "601 --no-enable-chunked-prefill",
                  "a prompt of up to --max-model-len 601 tokens would never fit a step of "
                  "--max-num-batched-tokens 600");
  }

  TEST_CASE("a figure of the timeline that is set has an effect") {
    const test::ScratchFolder folder;
    const std::string command =
        "simulate " + shared_prefix_trace(folder) + " --num-blocks 100 --show-costs";
    CHECK(holds(run_pagelab(command + " --cost replay_us=77").output,
                "replay_us                      77"));
    CHECK(holds(run_pagelab("simulate " + shared_prefix_trace(folder) + " --step-ms 50").output,
                "time per token after it       50.0"));
  }

  TEST_CASE("a page and a Chrome trace are written where they are asked for") {
    const test::ScratchFolder folder;
    const std::string page = (folder.path() / "page.html").string();
    const std::string events = (folder.path() / "trace.json").string();
    const test::CommandResult run =
        run_pagelab("simulate " + shared_prefix_trace(folder) + " --num-blocks 100 --html " + page +
                    " --html-from 2 --html-steps 2 --perfetto " + events);
    CHECK_MESSAGE(run.exit_status == 0, run.output);
    CHECK(std::filesystem::file_size(events) > 1000);
    std::ifstream file(page);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    CHECK_FALSE(holds(text, "\n{\"n\":1,"));
    CHECK(holds(text, "\n{\"n\":2,"));
    CHECK(holds(text, "\n{\"n\":3,"));
    CHECK_FALSE(holds(text, "\n{\"n\":4,"));
  }

  TEST_CASE("what makes no sense is refused in one sentence") {
    const test::ScratchFolder folder;
    const std::string command = "simulate " + shared_prefix_trace(folder);
    check_refusal("simulate " + (folder.path() / "none").string(), "cannot be read");
    check_refusal(command + " --num-blocks 1", "--num-blocks is 1; it must be at least 2");
    check_refusal(command + " --num-blocks 20", "line 1 of ");
    check_refusal(command + " --num-blocks 20", "can never fit");
    check_refusal(command + " --num-blocks 100 --kv-memory 1", "both size the pool");
    check_refusal(command + " --kv-memory 0.001", "block");
    check_refusal(command + " --max-model-len 500", "more than max_model_len 500");
    check_refusal(command + " --num-sms 3", "no effect without --cascade");
    check_refusal(command + " --cascade --backend FLASHINFER", "never uses cascade");
    check_refusal(command + " --backend FLASH", "FLASH");
    check_refusal(command + " --gpu h2000", "h200");
    check_refusal(command + " --block-size 7", "no backend serves");
    check_refusal(command + " --cudagraph-mode ALL", "ALL");
    check_refusal(command + " --cost launch=3", "no cost launch");
    check_refusal(command + " --step-ms 0", "--step-ms is 0");
    check_refusal(command + " --step-ms 5 --cost launch_us=3", "no effect");
    check_refusal(command + " --html-from 3", "no effect without --html");
    check_refusal(command + " --html " + (folder.path() / "no/page.html").string(), "no/page.html");
    check_refusal(command + " --html page.html --html-from 0", "is 0; it must be at least 1");
    check_refusal(command + " --html page.html --html-from 99", "the run ended after step");
    check_refusal(command + " --copies 0", "copies is 0");
    check_refusal(command + " --max-num-seqs 0", "--max-num-seqs is 0");
  }
}
