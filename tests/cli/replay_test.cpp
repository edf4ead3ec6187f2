// pagelab replay as a user meets it.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::run_pagelab;

namespace {

constexpr int kLinesAgree = 0, kALineDiffers = 1;

std::string golden_table(const std::string& kind) {
  return (test::golden_dir() / "registry" / (kind + ".jsonl")).string();
}

std::string text_of_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A table of one line of vision towers, with the answer that is given.
std::filesystem::path table_with_answer(const test::ScratchFolder& folder,
                                        const std::string& selected) {
  const std::filesystem::path path = folder.path() / "table.jsonl";
  std::ofstream(path) << R"({"id":"one","what":"vit","device_capability":[9,0],"head_size":80,)"
                      << R"("dtype":"bfloat16","backend":null,"expect":{"selected":")" << selected
                      << "\"}}\n";
  return path;
}

}  // namespace

TEST_SUITE("pagelab replay") {
  TEST_CASE("both tables of the registry agree and the answers written are the tables") {
    const test::ScratchFolder folder;
    for (const std::string kind : {"selection", "selector"}) {
      const std::string answers = (folder.path() / kind).string();
      const CommandResult run =
          run_pagelab("replay " + kind + " " + golden_table(kind) + " --answers " + answers);
      CHECK_MESSAGE(run.exit_status == kLinesAgree, run.output);
      CHECK(std::count(run.output.begin(), run.output.end(), '\n') == 1);
      // Theirs have a blank after each comma and colon.
      std::string written = text_of_table(answers);
      std::string golden = text_of_table(golden_table(kind));
      std::erase(written, ' ');
      std::erase(golden, ' ');
      CHECK(written == golden);
    }
  }

  TEST_CASE("a schedule that cannot be is refused in one sentence with its line") {
    const test::ScratchFolder folder;
    const auto refused = [&](const std::string& changed, const std::string& sentence) {
      const std::filesystem::path path = folder.path() / "schedule.jsonl";
      std::string cfg =
          R"({"id":"x","cfg":{"block_size":16,"num_blocks":5,"max_num_seqs":4,)"
          R"("max_num_batched_tokens":64,"max_model_len":256,"caching":true,)"
          R"("enable_chunked_prefill":true,"policy":"fcfs","groups":[{"kind":"full"}],)"
          R"("async":false},"out0":0,"stride":1,"reqs":[{"id":0,"t":0,"prompt":[[0,10]],)"
          R"("max_tokens":1,"prio":0}],"events":[],"steps":[],"totals":{}})";
      const std::string name = changed.substr(0, changed.find(':') + 1);
      const std::size_t start = cfg.find(name);
      cfg.replace(start, cfg.find_first_of(",}", start) - start, changed);
      std::ofstream(path) << cfg << '\n';
      check_refusal("replay scheduler " + path.string(), sentence);
    };
    refused(R"("num_blocks":1)", "num_blocks is 1; it must be at least 2, because the null block");
    refused(R"("num_blocks":0)", "num_blocks is 0;");
    refused(R"("num_blocks":4294967298)",
            "num_blocks is 4294967298; it must be a number of 32 bits.");
    refused(R"("max_tokens":60)", "line 1 of");
    refused(R"("max_tokens":60)",
            "request 0 can never run: its 69 tokens need 5 blocks of 16, but 4");
    refused(R"("policy":"lifo")", "policy is lifo; it may be one of: fcfs, priority.");
    refused(R"("out0":3000000000)", "output token 3000000000 of request 0 is no token");
  }

  TEST_CASE("a line that differs is shown with both answers and sets the exit status") {
    const test::ScratchFolder folder;
    const std::string table = table_with_answer(folder, "TORCH_SDPA").string();
    const CommandResult run = run_pagelab("replay selector " + table);
    CHECK(run.exit_status == kALineDiffers);
    CHECK(run.output == "0 of 1 lines of " + table +
                            " agree.\none, expect/selected:\n  theirs \"TORCH_SDPA\"\n  ours   "
                            "\"FLASH_ATTN\"\n");
  }

  TEST_CASE("an answer that the line does not hold is not compared") {
    const test::ScratchFolder folder;
    CHECK(run_pagelab("replay selector " + table_with_answer(folder, "FLASH_ATTN").string())
              .exit_status == kLinesAgree);
  }

  TEST_CASE("what is no table or no kind or no question is refused in one sentence") {
    const test::ScratchFolder folder;
    const std::string table = table_with_answer(folder, "FLASH_ATTN").string();
    check_refusal(
        "replay selektion " + table,
        "there is no kind of golden table selektion (did you mean selection?); the kinds are "
        "selection, selector, ");
    check_refusal("replay selektion " + table, "did you mean selection?");
    check_refusal("replay selection " + folder.path().string(), "cannot be read");
    check_refusal("replay selection " + table, "is not a question of kind selection");
    const auto refused_line = [&](const std::string& line, const std::string& sentence) {
      const std::filesystem::path path = folder.path() / "bad.jsonl";
      std::ofstream(path) << line << '\n';
      check_refusal("replay selection " + path.string(), sentence);
    };
    refused_line("[1, 2]", "line 1 of");
    refused_line(R"({"config":{"head_size":128,"dtype":"bfloat16","blocksize":16}})",
                 "config has a field blocksize");
    refused_line(R"({"config":{"head_size":128,"dtype":"bfloat16"},"device_capability":[9]})",
                 "device_capability is [9]");
    refused_line(R"({"config":{"head_size":128,"dtype":"bfloat16"},"device_capability":[9,0],)"
                 R"("env":{"b12x":"old"}})",
                 "env.b12x is old");
    refused_line(R"({"config":{"head_size":128,"dtype":"bfloat16"},"device_capability":[9,0],)"
                 R"("forced":"NOPE"})",
                 "Unknown attention backend: 'NOPE'");
  }
}
