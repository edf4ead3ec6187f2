#include "simulator/simt/source_line.h"

#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

extern "C" const char __executable_start[];
extern "C" const char etext[];
extern char** environ;

namespace pagelab::simt {

namespace {

// addr2line, started when the first question comes, and kept: it reads the program's debugging
// information once. Its answers come through a socket, which, unlike a pipe, says in an ordinary way
// that the other side is gone.
class Addr2line {
 public:
  Addr2line() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (spawn(ends[1])) {
      socket_ = ends[0];
    } else {
      close(ends[0]);
    }
    close(ends[1]);
  }
  ~Addr2line() { stop(); }
  Addr2line(const Addr2line&) = delete;
  Addr2line& operator=(const Addr2line&) = delete;

  // "path/file:88" of an address of the program's file, then the same of each function into which
  // that line was inlined, outermost last. Empty if there is no answer.
  std::vector<std::string> frames_of(std::uintptr_t address) {
    char question[64];
    // Each answer begins with the address; that of 0 says that the other one is complete.
    const int length = std::snprintf(question, sizeof question, "0x%zx\n0x0\n", address);
    if (socket_ < 0 ||
        send(socket_, question, static_cast<std::size_t>(length), MSG_NOSIGNAL) < 0) {
      return {};
    }
    std::vector<std::string> frames;
    std::string line;
    for (int num_addresses = 0; num_addresses < 2;) {
      if (!read_line(line)) return {};
      if (line.starts_with("0x")) {
        ++num_addresses;
      } else {
        frames.push_back(line);
      }
    }
    if (!read_line(line)) return {};  // "??:0", for the address 0
    return frames;
  }

 private:
  static bool spawn(int end) {
    const std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
    const char* const arguments[] = {"addr2line", "-a", "-i", "-e", program.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                    const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
  }

  bool read_line(std::string& line) {
    line.clear();
    for (;;) {
      if (next_ == received_) {
        const ssize_t count = recv(socket_, buffer_, sizeof buffer_, 0);
        if (count <= 0) {
          stop();
          return false;
        }
        next_ = 0;
        received_ = static_cast<std::size_t>(count);
      }
      const char letter = buffer_[next_++];
      if (letter == '\n') return true;
      line += letter;
    }
  }

  void stop() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  int socket_ = -1;
  char buffer_[1024];
  std::size_t next_ = 0;
  std::size_t received_ = 0;
};

// "1_naive.cuh:88" of "/home/me/1_naive.cuh:88 (discriminator 3)"; empty where the line is unknown.
std::string short_form(std::string frame) {
  frame = frame.substr(0, frame.find(" (discriminator"));
  const std::size_t colon = frame.rfind(':');
  if (colon == std::string::npos || colon + 1 == frame.size()) return "";
  const char first_digit = frame[colon + 1];
  if (first_digit < '1' || first_digit > '9') return "";
  const std::size_t slash = frame.rfind('/', colon);
  return slash == std::string::npos ? frame : frame.substr(slash + 1);
}

// The simulator's own headers are inlined into kernels: a vector's copy, a word of CUDA.
bool is_the_simulators(const std::string& frame) {
  return frame.find("/simulator/simt/") != std::string::npos;
}

std::string look_up(std::uintptr_t address) {
  static Addr2line addr2line;
  const std::vector<std::string> frames = addr2line.frames_of(address);
  for (const std::string& frame : frames) {
    if (!is_the_simulators(frame)) return short_form(frame);
  }
  return frames.empty() ? "" : short_form(frames.front());
}

}  // namespace

std::string source_line_of(const void* pc) {
  const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  const std::uintptr_t instruction = number(pc) - 1;
  const std::uintptr_t first = number(__executable_start);
  if (instruction < first || instruction >= number(etext)) return "";
  static std::mutex mutex;
  static std::map<const void*, std::string> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(pc);
  if (found != known.end()) return found->second;
    // A position-independent program is loaded anywhere; its file counts addresses from 0. One that is
    // not has its addresses in the file already, and begins at the address that the linker chose.
#if defined(__PIE__) || defined(__PIC__)
  const std::uintptr_t address = instruction - first;
#else
  const std::uintptr_t address = instruction;
#endif
  return known[pc] = look_up(address);
}

std::string at_line(const void* pc) {
  const std::string line = source_line_of(pc);
  return line.empty() ? "" : " at " + line;
}

}  // namespace pagelab::simt
