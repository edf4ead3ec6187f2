// The table of traps, on the reference in both precisions.

#include <doctest/doctest.h>

#include <string>

#include "reference/contract/compare.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/reference_backends.h"
#include "tests/cases/attention_traps.h"

using namespace pagelab;

namespace {

// The true values were worked out in double, with no more roundings than the reference has in
// double; so their own error is within that bound, and it comes on top.
Tensor sum_of_bounds(const Tensor& bound, const Tensor& bound_of_hand_values) {
  Tensor sum = bound;
  for (std::int64_t index = 0; index < sum.size(); ++index) {
    sum.data<double>()[index] += bound_of_hand_values.data<double>()[index];
  }
  return sum;
}

void check_trap(const test::AttentionTrap& trap, const AttentionBackend& backend) {
  CAPTURE(trap.name);
  const AttentionResult result = attend(trap.step, backend);
  AttentionStep stored = trap.step;
  stored.cache = result.cache;
  const ErrorBound bound = error_bound(stored, backend);
  const ErrorBound by_hand = error_bound(stored, Precision::canonical_double());
  const Comparison output =
      compare_within(result.output, trap.output, sum_of_bounds(bound.output, by_hand.output));
  const Comparison lse =
      compare_within(result.lse, trap.lse, sum_of_bounds(bound.lse, by_hand.lse));
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  if (trap.is_exact) {
    const Comparison bits = compare_bits(convert(result.output, DType::kFloat64), trap.output);
    CHECK_MESSAGE(bits.agrees(), to_string(bits));
  }
}

// Every trap whose name begins so, on both references.
void check_traps(const std::string& beginning) {
  const auto in_double = make_reference_backend();
  const auto in_float = make_reference_float_backend();
  std::int64_t num_checked = 0;
  for (const test::AttentionTrap& trap : test::attention_traps()) {
    if (!trap.name.starts_with(beginning)) continue;
    check_trap(trap, *in_double);
    check_trap(trap, *in_float);
    ++num_checked;
  }
  CHECK(num_checked > 0);
}

// The pair of steps whose name begins so.
void check_twins(const std::string& beginning) {
  const auto backend = make_reference_float_backend();
  std::int64_t num_checked = 0;
  for (const test::AttentionTwins& twins : test::attention_twins()) {
    if (!twins.name.starts_with(beginning)) continue;
    const AttentionResult one = attend(twins.one, *backend);
    const AttentionResult other = attend(twins.other, *backend);
    CHECK(identical(one.output, other.output));
    CHECK(identical(one.lse, other.lse));
    ++num_checked;
  }
  CHECK(num_checked > 0);
}

}  // namespace

TEST_SUITE("traps") {
  TEST_CASE("R1: the causal mask is anchored at the bottom right") { check_traps("R1:"); }
  TEST_CASE("R2: a row without a visible key gives exactly 0 and minus infinity") {
    check_traps("R2:");
  }
  TEST_CASE("R3: an empty key set gives 0 and minus infinity and leaves its neighbour alone") {
    check_traps("R3:");
  }
  TEST_CASE("R4: very negative scores are still scores") { check_traps("R4:"); }
  TEST_CASE("R5: the order is scale and soft cap and bias and mask") { check_traps("R5:"); }
  TEST_CASE("R6: query head h reads KV head h / group size") { check_traps("R6:"); }
  TEST_CASE("R7: a window of W is W keys and one of them the query's own") { check_traps("R7:"); }
  TEST_CASE("R8: a window reads no unused slot of the last block") { check_traps("R8:"); }
  TEST_CASE("R10: a sink joins maximum and denominator and nothing overflows") {
    check_traps("R10:");
  }
  TEST_CASE("K4: NaN in unused slots changes no bit") { check_twins("K4:"); }
  TEST_CASE("K8: no lane past the end of a sequence is in the denominator") { check_traps("K8:"); }
  TEST_CASE("K9: a block of 256 is read to its last token and the next one too") {
    check_traps("K9:");
  }
  TEST_CASE("K13: keys and values interleaved or apart give the same bits") { check_twins("K13:"); }
  TEST_CASE("K14: lengths below and at and above the tile are right") { check_traps("K14:"); }
  TEST_CASE("K15: request and head and token are never taken for each other") {
    check_traps("K15:");
  }
  TEST_CASE("K17: the place of the blocks changes no bit") { check_twins("K17:"); }
  TEST_CASE("K18: fp8 scales of keys and values are each applied once") { check_traps("K18:"); }
  TEST_CASE("every corner of masks and windows and sinks and encoders is right") {
    check_traps("");  // all of them, those without a number among them
  }
}
