// Golden tokens, whatever of the engine is in use: all 32 combinations of its features. The quick tests have a
// selection of them (feature_selection_test.cpp).

#include <doctest/doctest.h>

#include "reference/registry/reference_backends.h"
#include "tests/simulator/engine/generation/golden_texts.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_all_combinations(std::int64_t block_size, std::int64_t num_tokens = kGoldenTokens) {
  const auto reference = make_reference_backend();
  for (int combination = 0; combination < 32; ++combination) {
    check_golden_texts_with(features_of(combination), *reference, block_size,
                            {.num_tokens = num_tokens});
  }
}

}  // namespace

// A case a block size, so that ctest runs them side by side.
TEST_SUITE("feature combinations") {
  TEST_CASE("REFERENCE writes every golden token with them in blocks of 1 token") {
    check_all_combinations(1);
  }
  TEST_CASE("REFERENCE writes half of every golden text with them in blocks of 3 tokens") {
    check_all_combinations(3, kGoldenTokens / 2);
  }
  TEST_CASE("REFERENCE writes half of every golden text with them in blocks of 16 tokens") {
    check_all_combinations(16, kGoldenTokens / 2);
  }
  TEST_CASE("REFERENCE writes half of every golden text with them in blocks of 64 tokens") {
    check_all_combinations(64, kGoldenTokens / 2);
  }
}
