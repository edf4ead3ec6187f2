/// \file
/// What an untouched gap of an exercise throws.
#pragma once

#include <stdexcept>
#include <string>

namespace pagelab::lessons {

/// A gap that nobody has filled yet: `throw NotSolved{"02", 1};  // TODO(1)`.
class NotSolved : public std::runtime_error {
 public:
  /// \param lesson  the lesson's number, two digits
  /// \param task    the number in the gap's TODO
  NotSolved(const std::string& lesson, int task)
      : std::runtime_error("task " + std::to_string(task) + " of lesson " + lesson +
                           " is not solved yet."),
        task_(task) {}

  int task() const { return task_; }  ///< the number in the gap's TODO

 private:
  int task_;
};

}  // namespace pagelab::lessons
