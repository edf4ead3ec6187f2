// Every golden token, whatever of the engine is in use: a selection of the combinations in which any two features
// meet in all four ways, and each meets every size of block on and off. All of them are in feature_combinations.

#include <doctest/doctest.h>

#include "reference/registry/reference_backends.h"
#include "tests/simulator/engine/generation/golden_texts.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr int kAllFeatures = 31;

// A combination and its opposite.
void check_both(int combination, std::int64_t block_size) {
  for (const int one : {combination, kAllFeatures - combination}) {
    check_golden_texts_with(features_of(one), *make_reference_backend(), block_size);
  }
}

}  // namespace

// In binary graphs, cascade, chunked prefill, preemption, prefix caching. Whatever two columns are looked at, some row
// has equal digits and some row different ones; with the opposites that makes all four ways.
TEST_SUITE("feature selection") {
  TEST_CASE("REFERENCE writes every golden token with all features and with none") {
    check_both(0b00000, 1);
  }
  TEST_CASE("REFERENCE writes every golden token with prefix caching and preemption and without") {
    check_both(0b11100, 3);
  }
  TEST_CASE("REFERENCE writes every golden token with prefix caching in chunks and without") {
    check_both(0b11010, 16);
  }
  TEST_CASE("REFERENCE writes every golden token with prefix caching in a cascade and without") {
    check_both(0b10110, 64);
  }
}
