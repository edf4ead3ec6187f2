#include "lessons/checker/watchdog.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace pagelab::lessons {
namespace {

// A signal handler may not allocate, so the report's parts wait in plain arrays.
std::array<char, 256> current_task = {};
std::array<char, 2048> current_input = {};
std::array<char, 1 << 16> handler_stack;  // its own, for a recursion that used up the other

void print(const char* text) {
  const ssize_t written = write(STDOUT_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

const char* describe(int signal_number) {
  switch (signal_number) {
    case SIGALRM:
      return " is not done after 10 seconds.\n";
    case SIGFPE:
      return " divides an integer by zero.\n";
    case SIGABRT:
      return " was stopped by a check of the standard library: an index outside its vector, most "
             "likely (the line above names it).\n";
    default:
      return " crashed: it read or wrote memory that is not its own.\n";
  }
}

void report_and_exit(int signal_number) {
  print("\n");
  print(current_task.data());
  print(describe(signal_number));
  print("  input     ");
  print(current_input.data());
  print("\n  hint      ");
  print(signal_number == SIGALRM ? "Does a loop run for ever?"
                                 : "Is every index below its size? Does a function call itself?");
  print("\n");
  _exit(1);
}

template <std::size_t kSize>
void store(std::array<char, kSize>& target, const std::string& text) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::copy_n(text.begin(), length, target.begin());
  target[length] = '\0';
}

}  // namespace

void watch_for_crashes() {
  static_assert(kSecondsPerTask == 10, "the report says 10 seconds");
  stack_t stack = {};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = report_and_exit;
  action.sa_flags = SA_ONSTACK;
  for (int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    sigaction(signal_number, &action, nullptr);
  }
}

void watch_task(const std::string& task) {
  store(current_task, task);
  store(current_input, "none yet");
  std::fflush(stdout);
  alarm(kSecondsPerTask);
}

void watch_input(const std::string& input) { store(current_input, input); }

}  // namespace pagelab::lessons
