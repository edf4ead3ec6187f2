/// \file
/// Runs another program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace pagelab::cli {

/// Where a program's output goes.
enum class ProgramOutput {
  kShown,   ///< to this program's stdout and stderr
  kHidden,  ///< nowhere
};

/// Runs a program with this one's input and environment.
/// \param command  path of the program, then its arguments
/// \param output   whether its output is seen
/// \returns        its exit status; 128 plus the signal if it was ended by one
/// \throws Error   if it cannot be started
int run_program(const std::vector<std::string>& command,
                ProgramOutput output = ProgramOutput::kShown);

}  // namespace pagelab::cli
