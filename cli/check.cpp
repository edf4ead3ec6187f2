// pagelab check: compiles a lesson's check against an answer, by default the lesson's own
// exercise.h, and runs it. Compiling happens here and not in the build, so that an exercise with an
// error in it stops nobody but its author.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/lesson_folders.h"
#include "cli/run_program.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kCheckFailed = 1;

struct CheckOptions {
  std::string number;
  std::string file;
  bool each = false;
};

/// Everything that the build wrote down about compiling a check: compiler, flags, libraries, a line
/// each; "@SOURCES@" stands for what differs.
std::vector<std::string> compile_command(const Lesson& lesson,
                                         const fs::path& answer,
                                         const fs::path& program) {
  const fs::path recipe = fs::path(PAGELAB_BINARY_DIR) / "lessons" / "check_command.txt";
  std::ifstream file(recipe);
  if (!file) {
    throw Error(
        fmt::format("Checks are compiled as {} says, which is missing; configure with "
                    "PAGELAB_TESTS=ON and build.",
                    recipe.string()));
  }
  std::vector<std::string> command;
  for (std::string word; std::getline(file, word);) {
    if (word.empty()) continue;
    if (word != "@SOURCES@") {
      command.push_back(word);
      continue;
    }
    command.push_back(fmt::format("-DPAGELAB_ANSWER=\"{}\"", answer.string()));
    command.push_back((lesson.folder / "check.cpp").string());
    command.push_back("-o");
    command.push_back(program.string());
  }
  return command;
}

fs::path find_answer(const Lesson& lesson, const std::string& file) {
  const fs::path answer = file.empty() ? lesson.folder / "exercise.h" : fs::absolute(file);
  if (!fs::is_regular_file(answer)) {
    throw Error(
        fmt::format("{} is not a file; name the header that holds your answer to lesson {}, "
                    "or none for its exercise.h.",
                    short_path(answer), lesson.number));
  }
  return answer;
}

/// A file that goes when its owner does.
struct TemporaryFile {
  fs::path path;
  explicit TemporaryFile(fs::path where) : path(std::move(where)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

void print_next_lesson(const Lesson& done) {
  for (const Lesson& lesson : all_lessons()) {
    if (lesson.number <= done.number) continue;
    fmt::print("Next: lesson {}, {}: {}\n", lesson.number, lesson.title,
               short_path(lesson.folder / "README.md"));
    return;
  }
}

int run_check(const CheckOptions& options) {
  const Lesson lesson = find_lesson(options.number);
  const fs::path answer = find_answer(lesson, options.file);
  const TemporaryFile program(fs::temp_directory_path() /
                              fmt::format("pagelab_check_{}_{}", lesson.name, getpid()));
  if (run_program(compile_command(lesson, answer, program.path)) != 0) {
    fmt::print(
        "\n{} does not compile. The compiler's first message above says where; the others often "
        "follow from it.\n",
        short_path(answer));
    return kCheckFailed;
  }
  std::vector<std::string> command = {program.path.string()};
  if (options.each) command.push_back("--each");
  const int exit_status = run_program(command);
  if (exit_status == 0 && !options.each) print_next_lesson(lesson);
  return exit_status;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("check", "judge your answer to a lesson's exercise");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("number", options->number, "which lesson")->required();
  command->add_option("file", options->file,
                      "a header with your answer; without it, the lesson's exercise.h");
  command->add_flag("--each", options->each, "judge every task and print a line for each");
  command->callback([options, &exit_status] { exit_status = run_check(*options); });
}

}  // namespace pagelab::cli
