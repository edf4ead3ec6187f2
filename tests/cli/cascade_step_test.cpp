// pagelab attend STEP --common-prefix-blocks N: a step folder, attended in a cascade.

#include <doctest/doctest.h>

#include <string>

#include "reference/contract/step_folder.h"
#include "reference/registry/reference_backends.h"
#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/random_step.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;

TEST_SUITE("attend in a cascade") {
  TEST_CASE("a step with a common prefix agrees in a cascade or is refused in one sentence") {
    // Three blocks of 4 in common; request 0 has 12 tokens before its query. Expected: all keys at once.
    test::RandomStepOptions options;
    options.dtype = DType::kBFloat16;
    options.head_size = options.head_size_v = 16;
    options.requests = {{1, 13}, {1, 30}, {3, 17}};
    options.shared_prefix_blocks = 3;
    const AttentionStep step = test::random_step(options, 3);
    const AttentionResult flat = attend(step, *make_reference_backend());
    const test::ScratchFolder folder;
    write_step_folder(folder.path(), step,
                      {flat.output, flat.lse, flat.cache.keys(), flat.cache.values()});
    const std::string attend_step = "attend '" + folder.path().string() + "' ";

    for (const std::string backend : {"REFERENCE", "REFERENCE_FLOAT", "FLASH_ATTN", "FLASHINFER"}) {
      for (const std::string num_blocks : {"1", "3"}) {
        const test::CommandResult run = test::run_pagelab(
            attend_step + "--target " + (backend.starts_with("FLASH") ? "simulator" : "cpu") +
            " --backend " + backend + " --common-prefix-blocks " + num_blocks);
        CHECK_MESSAGE(run.exit_status == 0, run.output);
        CHECK_MESSAGE(run.output.find("agrees") != std::string::npos, run.output);
        CHECK_MESSAGE(run.output.find("in a cascade: ") != std::string::npos, run.output);
      }
    }
    test::check_refusal(attend_step + "--common-prefix-blocks 4",
                        "request 0 has 12 tokens before its queries");
    test::check_refusal(attend_step + "--common-prefix-blocks 0", "needs at least 1");
    test::check_refusal(attend_step + "--common-prefix-blocks three", "three");
    test::check_refusal(attend_step + "--backend NAIVE --common-prefix-blocks 3",
                        "with NAIVE on simulator: this backend has no cascade attention");
    test::check_refusal(attend_step + "--backend auto --common-prefix-blocks 3", " with ");
  }

  // Nothing of pagelab had a part in what this folder expects.
  TEST_CASE("the step with a shared prefix that docs has agrees in a cascade and flat") {
    const std::string attend_step =
        "attend '" + (test::golden_dir() / "shared_prefix_step").string() + "' ";
    for (const std::string backend :
         {"--backend REFERENCE", "--backend REFERENCE_FLOAT",
          "--target simulator --backend FLASH_ATTN", "--target simulator --backend FLASHINFER"}) {
      for (const std::string cascade : {"", " --common-prefix-blocks 3"}) {
        const test::CommandResult run = test::run_pagelab(attend_step + backend + cascade);
        CHECK_MESSAGE(run.output.ends_with("\nagrees\n"), run.output);
      }
    }
    test::check_refusal(attend_step + "--common-prefix-blocks 4",
                        "request 0 has 49 tokens before its queries");
  }
}
