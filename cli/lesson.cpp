// pagelab lesson: lists the lessons, or runs the example of one.

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/lesson_folders.h"
#include "cli/run_program.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

struct LessonOptions {
  std::string number;
  std::vector<std::string> arguments;
};

void list_lessons() {
  for (const Lesson& lesson : all_lessons()) {
    fmt::print("{:2}  {:34}  {}\n", lesson.number, lesson.title,
               short_path(lesson.folder / "README.md"));
  }
  fmt::print(
      "\n./pagelab lesson N runs a lesson's example, ./pagelab check N judges your exercise.\n");
}

int run_lesson(const LessonOptions& options) {
  const Lesson lesson = find_lesson(options.number);
  if (!std::filesystem::exists(lesson.example)) {
    throw Error(
        fmt::format("The example of lesson {} is not built: {} is missing; configure with "
                    "PAGELAB_TESTS=ON and build.",
                    lesson.number, lesson.example.string()));
  }
  std::vector<std::string> command = {lesson.example.string()};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  const int exit_status = run_program(command);
  // The output is the example's alone; a person at a terminal is also told where the text is.
  if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) {
    fmt::print(stderr, "\nThe text to this: {}\n", short_path(lesson.folder / "README.md"));
  }
  return exit_status;
}

}  // namespace

void add_lesson_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("lesson", "list the lessons, or run the example of one");
  auto options = std::make_shared<LessonOptions>();
  command->add_option("number", options->number, "which lesson; without it, all are listed");
  command->add_option("arguments", options->arguments, "what the example takes, see its README.md");
  command->callback([options, &exit_status] {
    if (options->number.empty()) {
      list_lessons();
    } else {
      exit_status = run_lesson(*options);
    }
  });
}

}  // namespace pagelab::cli
