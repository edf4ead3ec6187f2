#include "simulator/simt/source_line.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace pagelab;

namespace {

[[gnu::noinline]] const void* return_address() {
  asm volatile("");  // so that no two calls become one
  return __builtin_return_address(0);
}

// A call that is inlined: the line is the one within this function.
[[gnu::always_inline]] inline const void* inlined_return_address(int& line) {
  line = __LINE__ + 1;
  return return_address();
}

std::string place(int line) { return "source_line_test.cpp:" + std::to_string(line); }

}  // namespace

TEST_SUITE("simulator source lines") {
  TEST_CASE("a return address is told as the file and line of its call") {
    const void* const first = return_address();
    const int line_of_first = __LINE__ - 1;
    const void* const second = return_address();
    CHECK(simt::source_line_of(first) == place(line_of_first));
    CHECK(simt::source_line_of(second) == place(line_of_first + 2));
    CHECK(simt::source_line_of(first) == place(line_of_first));  // from what was kept
  }

  TEST_CASE("a call in an inlined function is told as the line within it") {
    int line = 0;
    const void* const pc = inlined_return_address(line);
    CHECK(simt::source_line_of(pc) == place(line));
  }

  TEST_CASE("an address outside the program has no line") {
    const int local = 0;
    CHECK(simt::source_line_of(&local) == "");
    CHECK(simt::source_line_of(nullptr) == "");
  }

  TEST_CASE("several host threads may ask at once") {
    const void* const pc = return_address();
    const std::string expected = place(__LINE__ - 1);
    std::vector<std::string> answers(8);
    std::vector<std::thread> threads;
    for (std::string& answer : answers) {
      threads.emplace_back([&answer, pc] { answer = simt::source_line_of(pc); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(answers == std::vector<std::string>(8, expected));
  }
}
