#include "tests/support/run_command.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "tests/support/environment.h"

namespace pagelab::test {

CommandResult run_command(const std::string& command) {
  const std::string in_checkout = "cd '" + source_dir().string() + "' && " + command + " 2>&1";
  std::FILE* pipe = popen(in_checkout.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  CommandResult result;
  std::array<char, 4096> buffer;
  while (const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), length);
  }
  const int status = pclose(pipe);
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string pagelab_program() { return std::string("'") + PAGELAB_PROGRAM + "'"; }

CommandResult run_pagelab(const std::string& arguments) {
  return run_command(pagelab_program() + " " + arguments);
}

std::string standard_output_of_pagelab(const std::string& arguments) {
  // The subshell keeps its standard error away from the pipe that run_command reads.
  return run_command("(" + pagelab_program() + " " + arguments + " 2>/dev/null)").output;
}

}  // namespace pagelab::test
