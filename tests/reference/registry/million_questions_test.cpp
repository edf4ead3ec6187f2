// A million random questions: slow, so its own program. What one selection takes is printed by
// benchmarks/reference/selection_benchmark.cpp.

#include <doctest/doctest.h>

#include "reference/registry/random_question.h"
#include "reference/registry/selection.h"

using namespace pagelab;

namespace {

constexpr int kNumQuestions = 1000000;

bool all_declined_have_reasons(const Selection& selection) {
  for (const DeclinedBackend& declined : selection.invalid) {
    if (declined.reasons.empty()) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("a million questions") {
  TEST_CASE("every one is answered and nobody is declined without a reason") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    RandomQuestions questions(20261130);
    int num_bad = 0;
    for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
      const SelectionQuestion question = questions.next();
      const Selection selection = select_attention_backend(question, std::nullopt, registry);
      const bool is_answered =
          selection.selected.has_value() != selection.error.has_value() &&
          selection.candidates.size() == selection.valid.size() + selection.invalid.size();
      if (!is_answered || !all_declined_have_reasons(selection)) ++num_bad;
    }
    CHECK(num_bad == 0);
  }
}
