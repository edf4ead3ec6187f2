#include "cli/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "reference/contract/error.h"

namespace pagelab::cli {

int run_program(const std::vector<std::string>& command, ProgramOutput output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(stdout);  // so that its output comes after ours

  posix_spawn_file_actions_t redirections;
  posix_spawn_file_actions_init(&redirections);
  if (output == ProgramOutput::kHidden) {
    posix_spawn_file_actions_addopen(&redirections, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&redirections, STDOUT_FILENO, STDERR_FILENO);
  }
  pid_t process = 0;
  const int failure =
      posix_spawn(&process, arguments[0], &redirections, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&redirections);
  if (failure != 0) {
    throw Error(fmt::format("{} could not be started: {}.", command[0], std::strerror(failure)));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) {
      throw Error(fmt::format("{} could not be waited for: {}.", command[0], std::strerror(errno)));
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace pagelab::cli
