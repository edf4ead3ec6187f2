/// \file
/// Runs a command line as a reader would, in the root of the checkout.
#pragma once

#include <string>

namespace pagelab::test {

/// What a command did.
struct CommandResult {
  int exit_status;     ///< 128 plus the signal if it was ended by one
  std::string output;  ///< standard output and standard error, in the order in which they came
};

/// Runs "./pagelab ..." with the program that was just built.
/// \param arguments  what follows "./pagelab", as the shell takes it
CommandResult run_pagelab(const std::string& arguments);

/// What "./pagelab ..." writes to standard output alone.
std::string standard_output_of_pagelab(const std::string& arguments);

/// The program that was just built, quoted for the shell.
std::string pagelab_program();

/// Runs any command line in the root of the checkout.
CommandResult run_command(const std::string& command);

}  // namespace pagelab::test
