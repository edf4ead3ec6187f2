// What a build is, before it is built: which of three CUDA states configuring finds, what it says of
// what it will compile, and what a test does without a GPU.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::CommandResult;
using test::run_command;

namespace {

// Configures the checkout into a fresh folder, without tests and benchmarks: seconds, not minutes.
CommandResult configure(const std::string& arguments, const std::string& environment = "") {
  const test::ScratchFolder folder;
  return run_command("env " + environment + " cmake -S . -B '" + folder.path().string() +
                     "' -G Ninja -DPAGELAB_TESTS=OFF -DPAGELAB_BENCHMARKS=OFF "
                     "-DPAGELAB_DOCS=OFF " +
                     arguments);
}

bool says(const CommandResult& result, const std::string& text) {
  return result.output.find(text) != std::string::npos;
}

// A path that leads nowhere: as if there were no nvcc on this machine.
const std::string kWithoutNvcc = "-DPAGELAB_NVCC=/nowhere/nvcc";

}  // namespace

TEST_SUITE("configure") {
  TEST_CASE("B3: without a CUDA compiler everything but the CUDA half is configured") {
    const CommandResult result = configure(kWithoutNvcc);
    CHECK_MESSAGE(result.exit_status == 0, result.output);
    CHECK_MESSAGE(says(result, "no CUDA compiler"), result.output);
  }

  TEST_CASE("B3: asking for CUDA where there is no compiler is refused with what to do") {
    const CommandResult result = configure(kWithoutNvcc + " -DPAGELAB_CUDA=ON");
    CHECK(result.exit_status != 0);
    CHECK_MESSAGE(says(result, "PAGELAB_CUDA is ON, but no CUDA compiler was found"),
                  result.output);
  }

  TEST_CASE("a CUDA compiler with and without a GPU are told apart") {
    if (run_command("command -v nvcc").exit_status != 0) {
      test::skip_for_want_of_a_gpu("there is no nvcc to configure with");
      return;
    }
    // Stand-ins for the program that lists GPUs: one finds none, one finds one.
    const test::ScratchFolder without_gpu;
    const test::ScratchFolder with_gpu;
    std::ofstream(without_gpu.path() / "nvidia-smi") << "#!/bin/sh\nexit 9\n";
    std::ofstream(with_gpu.path() / "nvidia-smi") << "#!/bin/sh\necho Imagined GPU\n";
    for (const std::filesystem::path& folder : {without_gpu.path(), with_gpu.path()}) {
      std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
    }
    const CommandResult none =
        configure("", "PATH='" + without_gpu.path().string() + "':\"$PATH\"");
    CHECK_MESSAGE(says(none, "but no GPU"), none.output);
    const CommandResult both = configure("", "PATH='" + with_gpu.path().string() + "':\"$PATH\"");
    CHECK_MESSAGE(says(both, "and Imagined GPU"), both.output);
  }

  TEST_CASE("B1: configuring says what it will compile and the default is one GPU architecture") {
    const CommandResult result = configure(kWithoutNvcc);
    CHECK_MESSAGE(says(result, " sources, each for: simulator, checked simulator\n"),
                  result.output);
    if (run_command("command -v nvcc").exit_status == 0) {
      const CommandResult with_nvcc = configure("");
      CHECK_MESSAGE(says(with_nvcc, ", cuda (80-virtual)\n"), with_nvcc.output);
    }
  }

  TEST_CASE("B4: a test without its GPU says so and fails where a GPU is required") {
    // The program that is running has a skip to show: the last case.
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string one_case = "'" + self + "' --no-skip -tc='shows the skip that B4 is about'";
    const CommandResult skipped = run_command("env -u PAGELAB_REQUIRE_GPU " + one_case);
    CHECK(skipped.exit_status == 0);
    CHECK(says(skipped, "SKIPPED: needs a GPU, but this machine is imagined without a GPU"));
    const CommandResult required = run_command("env PAGELAB_REQUIRE_GPU=1 " + one_case);
    CHECK(required.exit_status != 0);
    CHECK(says(required, "PAGELAB_REQUIRE_GPU=1, but this machine is imagined without a GPU"));
  }

  // Not a test of its own: what the case above runs.
  TEST_CASE("shows the skip that B4 is about" * doctest::skip()) {
    test::skip_for_want_of_a_gpu("this machine is imagined without a GPU");
  }
}
