// The functions that say what does not go together, against vLLM's rules written as conditions: same
// reason, same text, on random questions; and every rule must be met.

#include <doctest/doctest.h>

#include <set>

#include "reference/registry/random_question.h"
#include "tests/reference/registry/catalogue_json.h"
#include "tests/reference/registry/condition_rules.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr unsigned kSeed = 20261130;
constexpr int kNumQuestions = 3000;

// \returns how many of the rules were met
std::size_t check_rules(const BackendFacts& row, const Json& rules, CombinationRule ours) {
  if (rules.empty()) {
    CHECK_FALSE(static_cast<bool>(ours));
    return 0;
  }
  REQUIRE(static_cast<bool>(ours));
  std::set<std::size_t> met;
  RandomQuestions questions(kSeed);
  for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
    const SelectionQuestion question = questions.next();
    std::size_t fired = 0;
    const std::optional<std::string> expected = reason_by_rules(rules, question, fired);
    if (expected) met.insert(fired);
    if (ours(question) != expected) {
      FAIL_CHECK(row.name << ", question " << question_idx << " of seed " << kSeed << ": expected "
                          << expected.value_or("no reason") << ", got "
                          << ours(question).value_or("no reason"));
    }
  }
  return met.size();
}

}  // namespace

TEST_SUITE("combinations") {
  TEST_CASE("every combination rule gives the reason that vLLM's conditions give") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      const Json& rules = facts->at("combinations");
      CHECK(check_rules(*row, rules, row->supports_combination) == rules.size());
      const Json after_all = facts->value("appended_after_all", Json::array());
      CHECK(check_rules(*row, after_all, row->reason_after_all) == after_all.size());
    }
  }
}
