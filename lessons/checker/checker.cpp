#include "lessons/checker/checker.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "lessons/checker/watchdog.h"

namespace pagelab::lessons {

using Row = std::vector<double>;

std::string show(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string show_all_digits(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string show(std::int64_t value) { return std::to_string(value); }
std::string show(int value) { return std::to_string(value); }
std::string show(bool value) { return value ? "true" : "false"; }

void TaskCheck::input(std::int64_t size, const std::string& text, const std::string& hint) {
  if (size < size_) {
    throw std::logic_error("the check is wrong: its inputs do not come in increasing size (" +
                           std::to_string(size_) + ", then " + std::to_string(size) + ").");
  }
  size_ = size;
  input_ = text;
  hint_ = hint;
  watch_input(text);
}

void TaskCheck::expect_close(const std::string& what,
                             double got,
                             double expected,
                             double allowed) const {
  expect_close(what, Row{got}, Row{expected}, Row{allowed});
}

void TaskCheck::expect_close(const std::string& what,
                             const Row& got,
                             const Row& expected,
                             const Row& allowed) const {
  if (got.size() != expected.size()) fail(what + " " + show(expected), what + " " + show(got));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= allowed[i]) continue;
    const bool look_alike = show(expected) == show(got);
    const std::string place = expected.size() == 1 ? "" : " for element " + std::to_string(i);
    fail(what + " " + (look_alike ? show_all_digits(expected) : show(expected)) +
             "; allowed difference" + place + " " + show(allowed[i]),
         what + " " + (look_alike ? show_all_digits(got) : show(got)));
  }
}

void TaskCheck::fail(const std::string& expected, const std::string& got) const {
  throw WrongAnswer{input_, expected, got, hint_};
}

/// What became of one task.
struct Checker::Verdict {
  enum Kind { kRight, kWrong, kNotSolved } kind = kRight;
  WrongAnswer wrong;
  std::string cost;
};

namespace {

/// The path as the reader would type it: relative to the current directory if it is below it.
std::string short_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::relative(path, error);
  const bool below = !error && !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : path;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

Checker::Checker(std::string lesson,
                 std::string title,
                 std::string answer,
                 std::source_location check)
    : lesson_(std::move(lesson)), title_(std::move(title)), answer_(std::move(answer)) {
  const std::filesystem::path folder = std::filesystem::path(check.file_name()).parent_path();
  hints_ = short_path(folder / "hints.md");
}

void Checker::add_task(const std::string& function, std::function<void(TaskCheck&)> judge) {
  tasks_.push_back({function, std::move(judge)});
}

Checker::Verdict Checker::judge(std::size_t task_idx) const {
  const std::string name =
      "Task " + std::to_string(task_idx + 1) + ", " + tasks_[task_idx].function + ",";
  watch_task(name);
  TaskCheck task;
  Verdict verdict;
  try {
    tasks_[task_idx].judge(task);
    verdict.cost = task.cost();
  } catch (const NotSolved& gap) {
    // A later task may call the function of an earlier one; the gap is what has to be filled first.
    verdict.kind = Verdict::kNotSolved;
    verdict.wrong.input = std::to_string(gap.task());
  } catch (const WrongAnswer& wrong) {
    verdict.kind = Verdict::kWrong;
    verdict.wrong = wrong;
  } catch (const std::logic_error& error) {
    verdict.kind = Verdict::kWrong;
    verdict.wrong = {task.current_input(), "an answer",
                     std::string("the exception ") + error.what(),
                     "Is every index below its size?"};
  } catch (const std::exception& error) {
    verdict.kind = Verdict::kWrong;
    verdict.wrong = {task.current_input(), "an answer",
                     std::string("the exception ") + error.what(),
                     "This input is legal; the function should return something for it."};
  }
  return verdict;
}

std::string Checker::next_step(std::size_t task_idx, const std::string& verb) const {
  const std::filesystem::path answer(answer_);
  // The exercise in the lesson's own folder is what `check` judges when no file is named.
  const std::string folder = answer.parent_path().filename().string();
  const bool is_default = answer.filename() == "exercise.h" && folder.starts_with(lesson_ + "_");
  const std::string again = is_default ? "" : " " + short_path(answer_);
  const int number = std::stoi(lesson_);
  const std::string indent = "\n            ";
  return verb + " " + tasks_[task_idx].function + " in " + short_path(answer_) + "," + indent +
         "then run ./pagelab check " + std::to_string(number) + again + "." + indent +
         "More hints: " + hints_ + ", task " + std::to_string(task_idx + 1) + ".";
}

int Checker::run_up_to_first_failure() const {
  std::printf("lesson %s, %s\n", lesson_.c_str(), title_.c_str());
  for (std::size_t task_idx = 0; task_idx < tasks_.size(); ++task_idx) {
    const std::string number = std::to_string(task_idx + 1);
    const std::string& function = tasks_[task_idx].function;
    const Verdict verdict = judge(task_idx);
    if (verdict.kind == Verdict::kRight) {
      std::printf("  task %s  %s right\n", number.c_str(), padded(function, 24).c_str());
      if (!verdict.cost.empty()) std::printf("          cost: %s\n", verdict.cost.c_str());
      continue;
    }
    if (verdict.kind == Verdict::kNotSolved) {
      std::printf("\nTask %s, %s, is not solved yet.\n", number.c_str(), function.c_str());
      const std::string verb = "Fill the gap TODO(" + verdict.wrong.input + ") of";
      std::printf("  next      %s\n", next_step(std::stoul(verdict.wrong.input) - 1, verb).c_str());
      return 1;
    }
    std::printf("\nTask %s, %s, is not right yet.\n", number.c_str(), function.c_str());
    std::printf("  input     %s\n", verdict.wrong.input.c_str());
    std::printf("  expected  %s\n", verdict.wrong.expected.c_str());
    std::printf("  got       %s\n", verdict.wrong.got.c_str());
    std::printf("  hint      %s\n", verdict.wrong.hint.c_str());
    std::printf("  next      %s\n", next_step(task_idx, "Change").c_str());
    return 1;
  }
  std::printf("All %zu tasks are right.\n", tasks_.size());
  return 0;
}

int Checker::run_each() const {
  bool all_right = true;
  for (std::size_t task_idx = 0; task_idx < tasks_.size(); ++task_idx) {
    const Verdict::Kind kind = judge(task_idx).kind;
    const char* word = kind == Verdict::kRight   ? "right"
                       : kind == Verdict::kWrong ? "wrong"
                                                 : "not solved";
    std::printf("task %zu %s: %s\n", task_idx + 1, tasks_[task_idx].function.c_str(), word);
    all_right = all_right && kind == Verdict::kRight;
  }
  return all_right ? 0 : 1;
}

int Checker::run(int argc, char** argv) const {
  watch_for_crashes();
  if (argc == 1) return run_up_to_first_failure();
  if (argc == 2 && std::string(argv[1]) == "--each") return run_each();
  std::fprintf(stderr, "%s is not an argument of a check; it takes none, or --each.\n", argv[1]);
  return 2;
}

}  // namespace pagelab::lessons
