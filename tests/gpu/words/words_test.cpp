// S2, S3: every word of CUDA that the simulator knows, with its whole contract, on every device. What
// the words must say is worked out on the host; what an H200 said lies in tests/golden/h200/words.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "simulator/simt/launch.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/words/word_cases.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

bool begins_with_one_of(const std::string& name, const std::vector<const char*>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* beginning) { return name.rfind(beginning, 0) == 0; });
}

// Compares number by number, and shows the first that differs.
void check_numbers(const WordCase& word_case,
                   const char* what,
                   const std::vector<std::uint64_t>& got,
                   const std::vector<std::uint64_t>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t index = 0; index < got.size(); ++index) {
    if (got[index] == expected[index]) continue;
    char text[120];
    std::snprintf(text, sizeof text, "%s[%zu] is %llx, expected %llx", what, index,
                  static_cast<unsigned long long>(got[index]),
                  static_cast<unsigned long long>(expected[index]));
    FAIL_CHECK(to_string(word_case)
               << ": " << text << " (" << word_case.results_per_thread << " results a thread)");
    return;
  }
}

void check_case(const WordCase& word_case, const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  CAPTURE(to_string(word_case));
  const WordResults got = run_word(word_case, device);
  const WordResults expected = expected_word(word_case);
  check_numbers(word_case, "results", got.results, expected.results);
  check_numbers(word_case, "memory", got.memory, expected.memory);
}

// All cases whose kernel's name begins so; returns how many.
void check_words(const std::shared_ptr<Device>& device,
                 const std::vector<const char*>& beginnings) {
  int count = 0;
  for (const WordCase& word_case : word_cases()) {
    if (!begins_with_one_of(word_case.kernel, beginnings)) continue;
    if (word_case.is_for_gpu_only && device->kind() != DeviceKind::kCuda) continue;
    check_case(word_case, device);
    ++count;
  }
  CHECK(count > 0);
}

void check_on_simulators(const std::vector<const char*>& beginnings) {
  for (const auto& device : simulators()) check_words(device, beginnings);
}

}  // namespace

TEST_SUITE("words of CUDA") {
  TEST_CASE("barriers hold all threads and count their predicates") {
    check_on_simulators({"syncthreads", "syncwarp"});
  }
  TEST_CASE("shuffles read the lane that PTX says for every type and width and operand") {
    check_on_simulators({"shfl"});
  }
  TEST_CASE("votes and matches see the lanes of their mask and no others") {
    check_on_simulators({"votes", "match", "activemask"});
  }
  TEST_CASE("warp reductions combine the lanes of their mask and wrap around") {
    check_on_simulators({"reduce"});
  }
  TEST_CASE("S2: atomics return the old value and leave the new one") {
    check_on_simulators({"atomics"});
  }
  TEST_CASE("atomics of many threads lose nothing and give each old value once") {
    check_on_simulators({"contend", "compare_and_swap", "lock", "last_thread_block"});
  }
  TEST_CASE("bits and vectors and coordinates are those of CUDA") {
    check_on_simulators({"bits", "casts", "vectors", "coordinates"});
  }
  TEST_CASE("S3: shared arrays of a kernel and of a helper in another file hold apart") {
    check_on_simulators({"static_shared", "dynamic", "shared_of_a_helper"});
  }
  TEST_CASE("tiles of a warp work by themselves") { check_on_simulators({"tile"}); }

  TEST_CASE("S2: every word gives on the GPU what the host works out") {
    const auto device = gpu_or_skip();
    if (device == nullptr) return;
    for (const WordCase& word_case : word_cases()) check_case(word_case, device);
  }

  TEST_CASE("results of words do not depend on the order of threads") {
    // One order a simulator: they take their turns from the same schedule.
    simt::ThreadOrder order = simt::ThreadOrder::kDescending;
    for (const auto& device : simulators()) {
      const simt::ScopedThreadOrder scoped(order, 2);
      check_words(device, {""});
      order = simt::ThreadOrder::kShuffled;
    }
  }

  TEST_CASE("every kernel of the table has a case and every case has a line of its own") {
    std::set<std::string> kernels;
    std::set<std::string> names;
    for (const WordCase& word_case : word_cases()) {
      kernels.insert(word_case.kernel);
      CHECK_MESSAGE(names.insert(to_string(word_case)).second, to_string(word_case));
    }
    for (const WordKernel& kernel : on_simulator::word_kernels()) {
      CHECK_MESSAGE(kernels.count(kernel.name) == 1, kernel.name);
    }
  }

  TEST_CASE("the simulators reproduce the words of the H200 line by line") {
    const std::filesystem::path path = golden_dir() / "h200" / "words.txt";
    std::ifstream file(path);
    if (!file.good()) {
      std::printf("SKIPPED: %s has not been made yet; run h200_golden on a GPU.\n", path.c_str());
      return;
    }
    std::vector<std::string> golden;
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line[0] != '#') golden.push_back(line);
    }
    for (const auto& device : simulators()) {
      const std::vector<std::string> lines = word_lines(device);
      REQUIRE(lines.size() == golden.size());
      for (std::size_t index = 0; index < lines.size(); ++index) {
        CHECK(lines[index] == golden[index]);
      }
    }
  }
}
