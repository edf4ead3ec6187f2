// Steps that pagelab had no part in: tests/golden/random_steps makes them with NumPy, from the definition.

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>

#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::CommandResult;
namespace fs = std::filesystem;

namespace {

constexpr int kSeed = 3, kNumSteps = 40;

bool python_has_numpy() { return test::run_command("python3 -c 'import numpy'").exit_status == 0; }

}  // namespace

TEST_SUITE("random steps") {
  TEST_CASE("steps that NumPy made agree on every backend that needs no GPU") {
    if (!python_has_numpy()) {
      std::printf("SKIPPED: needs python3 with NumPy (apt-get install python3-numpy)\n");
      return;
    }
    const test::ScratchFolder folder;
    const fs::path generator = test::golden_dir() / "random_steps" / "make_random_steps.py";
    const CommandResult made = test::run_command(
        "python3 -B '" + generator.string() + "' --out '" + folder.path().string() + "' --seed " +
        std::to_string(kSeed) + " --count " + std::to_string(kNumSteps));
    REQUIRE_MESSAGE(made.exit_status == 0, made.output);

    int num_steps = 0;
    for (const fs::directory_entry& step : fs::directory_iterator(folder.path())) {
      CAPTURE(kSeed);
      CAPTURE(step.path().filename().string());
      const CommandResult attended = test::run_pagelab("attend '" + step.path().string() + "'");
      CHECK_MESSAGE(attended.exit_status == 0, attended.output);
      const CommandResult compared = test::run_pagelab("compare '" + step.path().string() + "'");
      CHECK_MESSAGE(compared.exit_status == 0, compared.output);
      ++num_steps;
    }
    CHECK(num_steps == kNumSteps);
  }
}
