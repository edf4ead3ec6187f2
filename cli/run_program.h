/// \file
/// Runs another program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace pagelab::cli {

/// Runs a program with this one's input, output and environment.
/// \param command  path of the program, then its arguments
/// \returns        its exit status; 128 plus the signal if it was ended by one
/// \throws Error   if it cannot be started
int run_program(const std::vector<std::string>& command);

}  // namespace pagelab::cli
