/// \file
/// The wrong answers of a lesson lie in one program, so that the tests are built in seconds.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace pagelab::lessons {

/// A wrong answer, or what leads to it, under its file's name.
template <typename T>
struct NamedAnswer {
  const char* name;  ///< of wrong/NAME.h
  T answer;          ///< a function
};

/// The wrong answer that the environment variable PAGELAB_WRONG_ANSWER names.
/// \throws std::invalid_argument  if it names none of them
template <typename T>
T wrong_answer(std::initializer_list<NamedAnswer<T>> answers) {
  const char* variable = std::getenv("PAGELAB_WRONG_ANSWER");
  const std::string name = variable == nullptr ? "" : variable;
  for (const NamedAnswer<T>& one : answers) {
    if (name == one.name) return one.answer;
  }
  throw std::invalid_argument("PAGELAB_WRONG_ANSWER is \"" + name +
                              "\", which is no file in the lesson's folder wrong.");
}

}  // namespace pagelab::lessons
