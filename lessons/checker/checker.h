/// \file
/// Judges an exercise. A lesson's check.cpp lists its tasks; the checker runs them in order and
/// reports the first that fails, alone: the smallest failing input, expected and got, one hint, and
/// what to do next. It judges what a function returns, never how it is written.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <source_location>
#include <string>
#include <vector>

#include "lessons/checker/not_solved.h"

namespace pagelab::lessons {

/// Unit roundoff of double: what one operation may lose, relative to its result.
inline constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;

/// A number as messages show it: "0.333333", "7", "nan".
std::string show(double value);
/// \copydoc show(double)
std::string show(std::int64_t value);
/// \copydoc show(double)
std::string show(int value);
/// "true" or "false".
std::string show(bool value);
/// A list as messages show it: "[6 1 4]", and of a long one the first few.
template <typename T>
std::string show(const std::vector<T>& values) {
  constexpr std::size_t kShown = 12;
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : " ") + show(values[i]);
  }
  if (values.size() > kShown) text += " ... " + std::to_string(values.size()) + " in all";
  return text + "]";
}

/// A number with all its digits, for two that differ behind those that show() prints.
std::string show_all_digits(double value);
/// \copydoc show_all_digits(double)
template <typename T>
std::string show_all_digits(const T& value) {
  return show(value);
}
/// \copydoc show_all_digits(double)
template <typename T>
std::string show_all_digits(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "[" : " ") + show_all_digits(value);
  return text + "]";
}

/// What a failed expectation throws; the checker turns it into the report.
struct WrongAnswer {
  std::string input;     ///< the smallest failing input
  std::string expected;  ///< what a right answer gives for it
  std::string got;       ///< what this one gives
  std::string hint;      ///< one sentence
};

/// One task under judgement. Inputs come in increasing size, so that the first that fails is the
/// smallest that fails; the checker refuses a check that breaks this rule.
class TaskCheck {
 public:
  /// The input that the next expectations are about.
  /// \param size  how many numbers the input has, never less than that of the input before
  /// \param text  the input in words and numbers, with its seed if it is random
  /// \param hint  what to think of if the answer is wrong here
  /// \throws std::logic_error  if the sizes decrease
  void input(std::int64_t size, const std::string& text, const std::string& hint);

  /// Expects a number within `allowed` of the right one; NaN is never within it.
  void expect_close(const std::string& what, double got, double expected, double allowed) const;
  /// Expects as many numbers as `expected` has, each within its own allowed distance.
  void expect_close(const std::string& what,
                    const std::vector<double>& got,
                    const std::vector<double>& expected,
                    const std::vector<double>& allowed) const;
  /// Expects exactly this; for lists of numbers NaN agrees with nothing.
  template <typename T>
  void expect_equal(const std::string& what, const T& got, const T& expected) const {
    if (got == expected) return;
    const bool look_alike = show(expected) == show(got);
    fail(what + " " + (look_alike ? show_all_digits(expected) : show(expected)),
         what + " " + (look_alike ? show_all_digits(got) : show(got)));
  }
  /// Expects that something holds.
  /// \param expected  the property in words
  /// \param got       what there is instead
  void expect(bool holds, const std::string& expected, const std::string& got) const {
    if (!holds) fail(expected, got);
  }

  /// Something worth knowing about a right answer, printed beside it: what it cost.
  void cost(const std::string& sentence) { cost_ = sentence; }

  const std::string& current_input() const { return input_; }  ///< as given to input()
  const std::string& cost() const { return cost_; }            ///< as given to cost(), or empty

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const;

  std::int64_t size_ = 0;
  std::string input_;
  std::string hint_;
  std::string cost_;
};

/// All tasks of one lesson, and the main program of its check.
class Checker {
 public:
  /// \param lesson  the lesson's number, two digits
  /// \param title   what it is about
  /// \param answer  path of the judged file, which the macro PAGELAB_ANSWER holds
  /// \param check   the check.cpp that calls, beside which hints.md lies
  Checker(std::string lesson,
          std::string title,
          std::string answer,
          std::source_location check = std::source_location::current());

  /// Adds the next task.
  /// \param function  the function of the exercise that it judges
  /// \param judge     calls it on inputs and states expectations
  void add_task(const std::string& function, std::function<void(TaskCheck&)> judge);

  /// Judges the tasks in order up to the first that fails. With the argument --each, judges every
  /// task and prints a line for each.
  /// \returns the exit status: 0 if all are right, 1 if not, 2 for an unknown argument
  int run(int argc, char** argv) const;

 private:
  struct Task {
    std::string function;
    std::function<void(TaskCheck&)> judge;
  };
  struct Verdict;

  Verdict judge(std::size_t task_idx) const;
  int run_up_to_first_failure() const;
  int run_each() const;
  std::string next_step(std::size_t task_idx, const std::string& verb) const;

  std::string lesson_;
  std::string title_;
  std::string answer_;
  std::string hints_;
  std::vector<Task> tasks_;
};

}  // namespace pagelab::lessons
