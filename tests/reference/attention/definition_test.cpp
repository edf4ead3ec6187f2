#include <doctest/doctest.h>

#include "reference/contract/compare.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/reference_backends.h"
#include "tests/cases/attention_cases.h"
#include "tests/reference/attention/definition.h"

using namespace pagelab;

namespace {

// Runs a step, and holds it against the definition within the derived bound.
void check_against_definition(const AttentionStep& step, const AttentionBackend& backend) {
  const AttentionResult result = attend(step, backend);
  AttentionStep stored = step;
  stored.cache = result.cache;
  const RequestAttention defined = test::attention_by_definition(stored);
  const ErrorBound bound = error_bound(stored, backend);
  const Comparison output = compare_within(result.output, defined.output, bound.output);
  const Comparison lse = compare_within(result.lse, defined.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
}

}  // namespace

TEST_SUITE("definition") {
  TEST_CASE("REFERENCE is within the bound of the definition for every kind of step") {
    const auto backend = make_reference_backend();
    for (const test::AttentionCase& attention_case : test::attention_cases()) {
      CAPTURE(attention_case.name);
      CAPTURE(attention_case.seed);
      check_against_definition(attention_case.step(), *backend);
    }
  }

  TEST_CASE("REFERENCE_FLOAT is within the bound of the definition for every kind of step") {
    const auto backend = make_reference_float_backend();
    for (const test::AttentionCase& attention_case : test::attention_cases()) {
      CAPTURE(attention_case.name);
      CAPTURE(attention_case.seed);
      check_against_definition(attention_case.step(), *backend);
    }
  }

  TEST_CASE("new steps of the same kinds are within the bound as well") {
    constexpr std::uint64_t kSeedOffset = 1000;
    const auto in_double = make_reference_backend();
    const auto in_float = make_reference_float_backend();
    for (const test::AttentionCase& attention_case : test::attention_cases(kSeedOffset)) {
      CAPTURE(attention_case.name);
      CAPTURE(attention_case.seed);
      check_against_definition(attention_case.step(), *in_double);
      check_against_definition(attention_case.step(), *in_float);
    }
  }
}
