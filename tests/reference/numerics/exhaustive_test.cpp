// Every function of exact_math.h on all 2^32 floats: its largest error, and a hash of its results
// that the GPU has to reproduce. About a minute on two cores.
#include <doctest/doctest.h>

#include <cinttypes>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/reference/numerics/exact_functions.h"
#include "tests/reference/numerics/golden_hashes.h"
#include "tests/support/bit_hash.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::uint64_t kAllFloats = std::uint64_t{1} << 32;

/// What a pass over some of the floats found.
struct Findings {
  double worst_ulps = 0.0;
  std::uint32_t worst_input = 0;
  std::uint64_t hash = 0;

  void join(const Findings& other) {
    if (!(other.worst_ulps <= worst_ulps)) {
      worst_ulps = other.worst_ulps;
      worst_input = other.worst_input;
    }
    hash += other.hash;
  }
};

/// Looks at the bit patterns first, first + step, ...
Findings examine(const ExactFunction& function, std::uint64_t first, std::uint64_t step) {
  Findings findings;
  for (std::uint64_t bits = first; bits < kAllFloats; bits += step) {
    const std::uint32_t input = static_cast<std::uint32_t>(bits);
    const float x = float_from_bits(input);
    const float result = function.exact(x);
    findings.hash += hash_of_pair(input, bits_of(result));
    // Below the smallest argument the function is defined to be 0.
    const double wanted = x < function.smallest_argument ? 0.0 : function.in_double(x);
    const double error = error_in_ulps(result, wanted);
    if (!(error <= findings.worst_ulps)) {
      findings.worst_ulps = error;
      findings.worst_input = input;
    }
  }
  return findings;
}

Findings examine_all(const ExactFunction& function) {
  constexpr std::uint64_t kThreads = 2;
  std::vector<Findings> findings(kThreads);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] { findings[thread] = examine(function, thread, kThreads); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t thread = 1; thread < kThreads; ++thread) findings[0].join(findings[thread]);
  return findings[0];
}

/// Prints the error, and the hashes as they stand in the golden table.
void check_all_floats(const ExactFunction& function) {
  const Findings findings = examine_all(function);
  const float worst = float_from_bits(findings.worst_input);
  std::printf("%s: at most %.4f ulp, at %a = %.9g; hash of all floats 0x%016" PRIx64 "\n",
              function.name.c_str(), findings.worst_ulps, worst, worst, findings.hash);
  CHECK(findings.worst_ulps <= function.allowed_ulps);
  // The stated error is not a comfortable one either.
  CHECK(findings.worst_ulps > function.allowed_ulps - 0.02);
  CHECK(findings.hash == read_golden_hashes().at(function.name).all_floats);
}

}  // namespace

TEST_SUITE("exhaustive") {
  TEST_CASE("exact_exp2 has the stated error and the golden bits on all floats") {
    check_all_floats(exact_functions()[0]);
  }
  TEST_CASE("exact_log2 has the stated error and the golden bits on all floats") {
    check_all_floats(exact_functions()[1]);
  }
  TEST_CASE("exact_log has the stated error and the golden bits on all floats") {
    check_all_floats(exact_functions()[2]);
  }
  TEST_CASE("exact_tanh has the stated error and the golden bits on all floats") {
    check_all_floats(exact_functions()[3]);
  }
}
