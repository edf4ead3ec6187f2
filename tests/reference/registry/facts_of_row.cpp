#include "tests/reference/registry/facts_of_row.h"

#include <algorithm>

#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/random_question.h"
#include "reference/registry/validate_configuration.h"
#include "tests/reference/registry/flags_of_rows.h"
#include "tests/reference/registry/json_predicates.h"

namespace pagelab::test {
namespace {

using Reasons = std::vector<std::string>;

// Questions to the rules of what goes together: random ones, because they read all fields, the model and
// what is installed.
std::vector<LineOfFacts> lines_of_combinations(const Json& facts) {
  constexpr int kNumQuestions = 3000;
  RandomQuestions questions(20261130);
  std::vector<LineOfFacts> lines;
  for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
    LineOfFacts line{questions.next(), {}};
    line.reasons = combination_reasons_by_facts(facts, line.question);
    lines.push_back(std::move(line));
  }
  return lines;
}

Reasons combination_reasons(const BackendFacts& facts, const SelectionQuestion& question) {
  Reasons reasons;
  for (const CombinationRule rule : {facts.supports_combination, facts.reason_after_all}) {
    if (rule == nullptr) continue;
    if (std::optional<std::string> reason = rule(question)) reasons.push_back(*reason);
  }
  return reasons;
}

bool has_other_flags(const BackendFacts& row, const Json& facts) {
  for (const NamedFlag& flag : kFlagsOfRows) {
    for (const std::string& capability : swept_capabilities()) {
      const bool ours = (row.*flag.member)(question_at(capability));
      if (ours != flag_at(facts.at(flag.name), capability)) return true;
    }
  }
  return false;
}

}  // namespace

FactsOfRow facts_of_row(const Json& facts) {
  return {&facts, systematic_lines(facts), lines_of_combinations(facts)};
}

bool has_other_reasons(const BackendFacts& row, const std::vector<LineOfFacts>& lines) {
  return std::any_of(lines.begin(), lines.end(), [&](const LineOfFacts& line) {
    return validate_configuration(row, line.question) != line.reasons;
  });
}

bool contradicts(const BackendFacts& row, const FactsOfRow& theirs) {
  const Json& package = theirs.facts->at("simulated_package");
  return row.package != (package.is_null() ? "" : package.get<std::string>()) ||
         has_other_flags(row, *theirs.facts) || has_other_reasons(row, theirs.lines) ||
         std::any_of(theirs.combinations.begin(), theirs.combinations.end(),
                     [&](const LineOfFacts& line) {
                       return combination_reasons(row, line.question) != line.reasons;
                     });
}

bool accept_the_same(const BackendFacts& a, const BackendFacts& b) {
  const auto differ = [&](auto accepts, const SelectionQuestion& question) {
    return accepts(a, question) != accepts(b, question);
  };
  for (const std::string& capability : swept_capabilities()) {
    SelectionQuestion question = question_at(capability);
    if (differ(supports_compute_capability, question)) return false;
    for (std::int64_t size = 1; size <= kLargestSize; ++size) {
      question.config.block_size = question.config.head_size = size;
      if (differ(supports_block_size, question) || differ(supports_head_size, question)) {
        return false;
      }
    }
    for (const std::string_view name : kv_cache_dtype_names()) {
      question.config.kv_cache_dtype = std::string(name);
      if (differ(supports_kv_cache_dtype, question)) return false;
    }
  }
  return true;
}

}  // namespace pagelab::test
