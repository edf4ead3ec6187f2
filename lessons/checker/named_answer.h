/// \file
/// The solution and the wrong answers of a lesson lie in one program, so that the tests are built in seconds.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace pagelab::lessons {

/// An answer, or what leads to it, under its file's name.
template <typename T>
struct NamedAnswer {
  const char* name;  ///< of wrong/NAME.h; "solution": of solution.h
  T answer;          ///< a function
};

/// The answer that the environment variable PAGELAB_ANSWER_NAME names; the solution where it is not set.
/// \throws std::invalid_argument  if it names none of them
template <typename T>
T named_answer(std::initializer_list<NamedAnswer<T>> answers) {
  const char* variable = std::getenv("PAGELAB_ANSWER_NAME");
  const std::string name = variable == nullptr ? "solution" : variable;
  for (const NamedAnswer<T>& one : answers) {
    if (name == one.name) return one.answer;
  }
  throw std::invalid_argument("PAGELAB_ANSWER_NAME is \"" + name +
                              "\", which is no file in the lesson's folder wrong.");
}

}  // namespace pagelab::lessons
