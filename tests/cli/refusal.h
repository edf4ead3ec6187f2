/// \file
/// How the program refuses a request.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/run_command.h"

namespace pagelab::test {

/// The exit status of a request that was wrong.
constexpr int kRequestWasWrong = 2;

/// Checks that a request is refused in one sentence on one line of stderr, with nothing on stdout.
/// \param arguments  of the program
/// \param must_name  what the sentence has to hold
inline void check_refusal(const std::string& arguments, const std::string& must_name) {
  const CommandResult run = run_pagelab(arguments);
  CHECK(run.exit_status == kRequestWasWrong);
  CHECK(std::count(run.output.begin(), run.output.end(), '\n') == 1);
  CHECK_MESSAGE(run.output.find(must_name) != std::string::npos, run.output);
  CHECK(standard_output_of_pagelab(arguments) == "");
}

}  // namespace pagelab::test
