// pagelab check: compiles an answer, by default the lesson's own exercise.h, links it with the lesson's check,
// and runs it. Compiling happens here and not in the build, so that an exercise with an error in it stops
// nobody but its author.

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

/// How the build compiles an answer; it wrote that down, a word a line. A check knows no answer by itself, and
/// was compiled with the build.
struct Recipe {
  std::vector<std::string> compiler;         ///< path and flags
  std::vector<std::string> kernel_compiler;  ///< the same for kernels; empty if it makes none
  std::vector<std::string> libraries;        ///< that every check is linked with
};

/// Opens a file that the build wrote.
std::ifstream open_recipe(const fs::path& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(
        fmt::format("Checks are compiled as {} says, which is missing; configure with "
                    "PAGELAB_TESTS=ON and build.",
                    path.string()));
  }
  return file;
}

/// The object file of a lesson's check.
std::string compiled_check(const Lesson& lesson) {
  std::ifstream file =
      open_recipe(fs::path(PAGELAB_BINARY_DIR) / "lessons" / lesson.name / "check_object.txt");
  std::string path;
  std::getline(file, path);
  return path;
}

Recipe read_recipe() {
  std::ifstream file = open_recipe(fs::path(PAGELAB_BINARY_DIR) / "lessons" / "check_command.txt");
  Recipe recipe;
  std::vector<std::string>* part = &recipe.compiler;
  for (std::string word; std::getline(file, word);) {
    if (word == "@KERNELS@") {
      part = &recipe.kernel_compiler;
    } else if (word == "@LIBRARIES@") {
      part = &recipe.libraries;
    } else if (!word.empty()) {
      part->push_back(word);
    }
  }
  return recipe;
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

/// How far the building of a check came.
enum class BuildEnd { kBuilt, kNotCompiled, kNotLinked };

/// Compiles one source file with a check's answer.
bool compile(const std::vector<std::string>& compiler,
             const fs::path& source,
             const fs::path& answer,
             const fs::path& object,
             ProgramOutput output) {
  std::vector<std::string> command = compiler;
  command.push_back(fmt::format("-DPAGELAB_ANSWER=\"{}\"", answer.string()));
  command.insert(command.end(), {source.string(), "-c", "-o", object.string()});
  return run_program(command, output) == 0;
}

/// Compiles an answer, and links it with the lesson's check and our libraries.
BuildEnd build_check(const Lesson& lesson,
                     const fs::path& answer,
                     const fs::path& program,
                     ProgramOutput output) {
  const Recipe recipe = read_recipe();
  const TemporaryFile object(program.string() + ".o");
  std::vector<std::string> link = recipe.compiler;
  // A lesson about kernels has the answer in a source file that is compiled as kernels are.
  const fs::path kernel_source = lesson.folder / "answer.cu";
  const bool has_kernels = fs::exists(kernel_source);
  if (has_kernels && recipe.kernel_compiler.empty()) {
    throw Error(
        fmt::format("The check of lesson {} needs checked kernels, which this build of pagelab "
                    "lacks: ThreadSanitizer excludes them. Configure another preset.",
                    lesson.number));
  }
  const bool is_compiled =
      has_kernels
          ? compile(recipe.kernel_compiler, kernel_source, answer, object.path, output)
          : compile(recipe.compiler, lesson.folder / "answer.cpp", answer, object.path, output);
  if (!is_compiled) return BuildEnd::kNotCompiled;
  link.push_back(compiled_check(lesson));
  link.insert(link.end(), {object.path.string(), "-o", program.string()});
  link.insert(link.end(), recipe.libraries.begin(), recipe.libraries.end());
  return run_program(link, output) == 0 ? BuildEnd::kBuilt : BuildEnd::kNotLinked;
}

/// Says whose fault it is that a check was not linked. The solution takes from our libraries what
/// every answer takes: if it cannot be linked either, the answer has nothing to do with it.
void print_why_not_linked(const Lesson& lesson, const fs::path& answer, const fs::path& program) {
  const fs::path solution = lesson.folder / "solution.h";
  if (build_check(lesson, solution, program, ProgramOutput::kHidden) == BuildEnd::kBuilt) {
    fmt::print(
        "\n{} compiles, but calls something that is declared and nowhere defined; the linker's "
        "message above names it.\n",
        short_path(answer));
    return;
  }
  fmt::print(
      "\nThe check of lesson {} cannot be linked with pagelab's own libraries; the linker's "
      "message above says why. That is a fault of this build of pagelab, not of {}: ./pagelab "
      "clean, then call again.\n",
      lesson.number, short_path(answer));
}

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
  const BuildEnd end = build_check(lesson, answer, program.path, ProgramOutput::kShown);
  if (end == BuildEnd::kNotCompiled) {
    fmt::print(
        "\n{} does not compile. The compiler's first message above says where; the others often "
        "follow from it.\n",
        short_path(answer));
    return kCheckFailed;
  }
  if (end == BuildEnd::kNotLinked) {
    print_why_not_linked(lesson, answer, program.path);
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
