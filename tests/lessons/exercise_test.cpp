// The exercises themselves. That solutions pass and wrong answers are rejected is asserted by tests of
// their own, one an answer (cmake/PagelabLessons.cmake).

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>

#include "tests/lessons/lesson_files.h"
#include "tests/support/run_command.h"

using namespace pagelab::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// "task 2 slot_of: right" for each task, from the solution's check that the build made.
std::vector<std::string> tasks_of(const fs::path& folder) {
  const std::string check = "check_" + folder.filename().string() + "_answers";
  const CommandResult result =
      run_command(std::string(PAGELAB_CHECKS_FOLDER) + "/" + check + " --each");
  REQUIRE(result.exit_status == 0);
  return lines_of(result.output);
}

/// Whether somebody has begun to solve the exercise in this checkout.
bool is_touched(const fs::path& exercise) {
  constexpr int kDiffers = 1;
  return run_command("git diff --quiet HEAD -- '" + exercise.string() + "'").exit_status ==
         kDiffers;
}

}  // namespace

TEST_SUITE("exercises") {
  TEST_CASE("each task of an untouched exercise is reported as not solved") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      if (is_touched(folder / "exercise.h")) {
        std::printf("SKIPPED: %s is being worked on.\n", (folder / "exercise.h").c_str());
        continue;
      }
      const CommandResult result = run_pagelab("check " + number_of(folder) + " --each");
      CHECK(result.exit_status == 1);
      const std::vector<std::string> lines = lines_of(result.output);
      CHECK(lines.size() == tasks_of(folder).size());
      for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(line.ends_with(": not solved"));
      }
    }
  }

  TEST_CASE("L4: a solution put in the place of its exercise passes") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      const std::string solution = (folder / "solution.h").string();
      CHECK(run_pagelab("check " + number_of(folder) + " '" + solution + "'").exit_status == 0);
    }
  }

  TEST_CASE("exercise and solution declare the same things") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      const std::vector<std::string> in_exercise =
          declarations_in(read_text(folder / "exercise.h"));
      CHECK(in_exercise == declarations_in(read_text(folder / "solution.h")));
      CHECK(in_exercise.size() > tasks_of(folder).size());
    }
  }

  TEST_CASE("each task has hints under its own name") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      std::vector<std::string> headings = parse_markdown(read_text(folder / "hints.md")).headings;
      std::vector<std::string> expected = {"Hints for lesson " +
                                           folder.filename().string().substr(0, 2)};
      int task = 0;
      for (const std::string& line : tasks_of(folder)) {
        const std::string prefix = "task " + std::to_string(++task) + " ";
        const std::string function = line.substr(prefix.size(), line.find(':') - prefix.size());
        expected.push_back("Task " + std::to_string(task) + ": " + function);
      }
      CHECK(headings == expected);
    }
  }

  TEST_CASE("an example has at most 80 lines") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      CHECK(lines_of(read_text(folder / "example.cpp")).size() <= 80);
    }
  }
}
