// The root script ./pagelab: what it builds for which command, and what it refuses before it builds. It runs
// in a folder of its own, where programs that only note their arguments stand in for cmake and ninja.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::CommandResult;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_program(const fs::path& path, const std::string& body) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << body;
  fs::permissions(path, fs::perms::owner_all);
}

// A checkout that holds what the script reads, and the programs that it calls.
class Checkout {
 public:
  Checkout() {
    fs::create_directories(root() / "cli");
    fs::copy_file(test::source_dir() / "pagelab", root() / "pagelab");
    fs::copy_file(test::source_dir() / "cli" / "commands.h", root() / "cli" / "commands.h");
    // Every package that is asked about is installed; what apt-get is called for is noted.
    write_program(stand_ins() / "dpkg-query",
                  "shift 2\nfor package; do printf '%s:installed ' \"$package\"; done\n");
    write_program(stand_ins() / "apt-get", note("apt-get"));
    write_program(stand_ins() / "cmake", note("cmake") +
                                             "mkdir -p build/default\n"
                                             ": > build/default/build.ninja\n");
    write_program(stand_ins() / "ctest", note("ctest"));
    let_ninja("echo 'ninja: no work to do.'\n");
    write_program(root() / "build/default/bin/pagelab", note("program"));
    write_program(root() / "build/default/bin/bench_one", note("benchmark"));
  }

  // What ninja does after noting its arguments; $2 is the build folder.
  void let_ninja(const std::string& body) {
    write_program(stand_ins() / "ninja", note("ninja") + body);
  }

  CommandResult run(const std::string& arguments) const {
    return test::run_command("env PATH='" + stand_ins().string() + "':\"$PATH\" '" +
                             (root() / "pagelab").string() + "' " + arguments);
  }

  // A line for each program that was called, with its arguments; "ROOT" stands for the checkout.
  std::string calls() const {
    const std::string checkout = root().string();
    std::string text = text_of(root() / "calls");
    for (std::size_t at = text.find(checkout); at != std::string::npos;
         at = text.find(checkout, at)) {
      text.replace(at, checkout.size(), "ROOT");
    }
    return text;
  }

  fs::path root() const { return folder_.path() / "checkout"; }

 private:
  fs::path stand_ins() const { return folder_.path() / "stand_ins"; }
  std::string note(const std::string& name) const {
    return "echo \"" + name + " $*\" >> '" + (root() / "calls").string() + "'\n";
  }

  test::ScratchFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("script") {
  TEST_CASE("an unknown first word is refused with the nearest name before anything is built") {
    const Checkout checkout;
    const std::vector<std::pair<std::string, std::string>> cases = {{"tset", "test"},
                                                                    {"dmeo", "demo"},
                                                                    {"lessons 2", "lesson"},
                                                                    {"--hlep", "--help"},
                                                                    {"atend STEP", "attend"}};
    for (const auto& [arguments, nearest] : cases) {
      const CommandResult run = checkout.run(arguments);
      CHECK(run.exit_status == 2);
      const std::string word = arguments.substr(0, arguments.find(' '));
      CHECK_MESSAGE(
          contains(run.output, word + " is not a command of ./pagelab; the nearest one is " +
                                   nearest + ". Commands are: demo, "),
          run.output);
    }
    // Nothing is near this one.
    const CommandResult run = checkout.run("quantize");
    CHECK(run.exit_status == 2);
    CHECK_MESSAGE(contains(run.output, "quantize is not a command of ./pagelab. Commands are: "),
                  run.output);
    CHECK(checkout.calls() == "");
  }

  TEST_CASE("the commands that the script passes on are those that the program has") {
    // The program itself names them when it is asked for one that it does not have.
    const std::string refusal = test::run_pagelab("no_such_command").output;
    const std::size_t begin = refusal.find("of pagelab: ") + 12;
    std::string expected = refusal.substr(begin, refusal.find(" are.") - begin);
    CHECK(contains(expected, "attend, compare"));
    expected += ", test, bench, docs, debug, clean, --help, --version.";
    CHECK(contains(Checkout().run("quantize").output, "Commands are: " + expected));
  }

  TEST_CASE("the script and the program know the same version and nothing is built for it") {
    const Checkout checkout;
    fs::copy_file(test::source_dir() / "CMakeLists.txt", checkout.root() / "CMakeLists.txt");
    const CommandResult run = checkout.run("--version");
    CHECK(run.exit_status == 0);
    CHECK(checkout.calls() == "");
    const std::string version = test::standard_output_of_pagelab("--version");
    CHECK(version.find("pagelab ") == 0);
    CHECK(run.output == version);
  }

  TEST_CASE("a command of the program builds the program and neither tests nor benchmarks") {
    for (const std::string arguments : {"demo", "lesson 2", "check 1 answer.h", "compare STEP"}) {
      const Checkout checkout;
      CHECK(checkout.run(arguments).exit_status == 0);
      CHECK(checkout.calls() ==
            "cmake --preset default\n"
            "ninja -C ROOT/build/default pagelab_program\n"
            "program " +
                arguments + "\n");
    }
  }

  TEST_CASE("tests and benchmarks and documentation build what they need") {
    const Checkout checkout;
    checkout.run("demo");
    const std::string before = checkout.calls();
    checkout.run("bench");
    CHECK(contains(checkout.calls(), "ninja -C ROOT/build/default pagelab_benchmarks\nbenchmark "));
    checkout.run("docs");
    CHECK(contains(checkout.calls(), "ninja -C ROOT/build/default docs\n"));
    CHECK(before.find("ninja -C ROOT/build/default\n") == std::string::npos);
    checkout.run("test -R paged");
    CHECK(contains(checkout.calls(), "ninja -C ROOT/build/default\nctest --test-dir"));
    // Configuring is done once.
    CHECK(checkout.calls().find("cmake") == checkout.calls().rfind("cmake"));
  }

  TEST_CASE("documentation configures again where Doxygen was not there before") {
    const Checkout checkout;
    checkout.run("demo");
    std::ofstream(checkout.root() / "build/default/CMakeCache.txt")
        << "CMAKE_HOME_DIRECTORY:INTERNAL=" << checkout.root().string() << "\n"
        << "PAGELAB_DOXYGEN:FILEPATH=PAGELAB_DOXYGEN-NOTFOUND\n";
    checkout.run("docs");
    CHECK(contains(checkout.calls(),
                   "program demo\ncmake --preset default\nninja -C ROOT/build/default docs\n"));
  }

  TEST_CASE("the build message names the log that is being written") {
    Checkout checkout;
    // It goes on once the log has its first line, and then says so; without a log it gives up.
    checkout.let_ninja(
        "echo '[1/3] Building CXX object one.o'\n"
        "for i in 1 2 3 4 5 6 7 8 9 10; do\n"
        "  grep -qs one.o \"$2/pagelab_build.log\" && echo '[2/3] Building CXX object two.o' && "
        "exit\n"
        "  sleep 0.2\n"
        "done\n"
        "exit 1\n");
    const CommandResult run = checkout.run("demo");
    CHECK_MESSAGE(run.exit_status == 0, run.output);
    const fs::path log = checkout.root() / "build/default/pagelab_build.log";
    CHECK_MESSAGE(contains(run.output, "Building pagelab, 3 files (log: " + log.string() + ")"),
                  run.output);
    CHECK(contains(text_of(log), "two.o"));

    // A call that has nothing to build says nothing, and keeps that log.
    checkout.let_ninja("echo 'ninja: no work to do.'\n");
    CHECK(checkout.run("demo").output == "");
    CHECK(contains(text_of(log), "two.o"));
    CHECK_FALSE(fs::exists(log.string() + ".new"));
  }

  TEST_CASE("a build that fails shows the compiler's words and where the rest is") {
    Checkout checkout;
    checkout.let_ninja(
        "echo '[1/2] Building CXX object one.o'\n"
        "echo 'FAILED: one.o'\necho 'one.cpp:3: error: no such thing'\nexit 1\n");
    const CommandResult run = checkout.run("demo");
    CHECK(run.exit_status == 1);
    CHECK_MESSAGE(
        contains(run.output, "FAILED: one.o\none.cpp:3: error: no such thing\nThe build failed"),
        run.output);
    CHECK_FALSE(contains(checkout.calls(), "\nprogram "));
  }
}
