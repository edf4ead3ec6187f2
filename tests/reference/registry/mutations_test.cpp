// Whether the tables would notice: one fact of the catalogue is changed at a time, and some golden line must then
// have another answer. What the run prints is in tests/golden/registry/README.md, too. The lines are
//
//   selection.jsonl            what vLLM answered; it asks a backend that is never chosen automatically little
//                              more than its name
//   selection_of_facts.jsonl   for those: a question for each fact, with the reasons that follow from
//                              backends.json, where vLLM's classes say what they are
//   selector.jsonl             state-space layers, who name their member: no record, one fact is read
//
// Facts that no selection reads are held to backends.json itself. What survives all that changes no answer.

#include "tests/reference/registry/mutations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "reference/registry/priorities.h"
#include "tests/reference/registry/facts_of_row.h"
#include "tests/reference/registry/golden_lines.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// All changes of a row, each combination reason left out among them. The rules of the row are in use while
// `visit` runs.
void for_each_change(const BackendFacts& original,
                     const std::vector<LineOfFacts>& combinations,
                     const std::function<void(const Mutation&)>& visit) {
  for (const Mutation& mutation : mutations_of(original)) visit(mutation);
  if (original.supports_combination == nullptr) return;
  // What a reason repeats of the question stands at its end: "..., got kv_cache_dtype=fp8".
  std::set<std::string> beginnings;
  for (const LineOfFacts& line : combinations) {
    for (const std::string& reason : line.reasons) {
      beginnings.insert(reason.substr(0, reason.find(", got ")));
    }
  }
  for (const std::string& beginning : beginnings) {
    visit(without_combination_reason(original, beginning));
  }
}

// A change that nothing notices.
struct Survivor {
  const BackendFacts* original;
  Mutation mutation;
};

// Why it changes no answer; empty: one should have noticed.
std::string why_it_may_survive(const Survivor& survivor) {
  const std::string& what = survivor.mutation.what;
  const BackendFacts& original = *survivor.original;
  if (!accept_the_same(original, survivor.mutation.facts)) return "";
  if (what.starts_with("kernel_block_sizes")) {
    return "another size of the list divides it, so the same block sizes pass";
  }
  if (what.starts_with("kv_cache_dtypes") && original.kv_cache_dtype_rule != nullptr) {
    return "a rule decides, whatever the list of cache dtypes says";
  }
  if (!original.children.empty() &&
      (what.starts_with("capabilities with") || what.starts_with("without the child"))) {
    return "another child of the composite declines the same";
  }
  return "";
}

// How a run went.
struct Survey {
  std::size_t num_changes = 0;
  std::size_t num_noticed_by_vllm_lines = 0;
  std::size_t num_noticed_by_lines_of_facts = 0;
  std::map<std::string, std::size_t>
      num_unread;  // noticed by the facts themselves, by kind of change
  std::vector<Survivor> survivors;
};

// A rule for AMD's GPUs, behind another that no question about CUDA passes.
constexpr const char* kAmdRule = "without the reason 'FP8 segmented attention requires gfx12'";

std::string kind_of(const Mutation& mutation) {
  if (mutation.what == kAmdRule) return "rule for AMD's GPUs";
  return mutation.what.substr(0, mutation.what.find(' '));
}

Survey survey_of_ordinary_rows() {
  Survey survey;
  LinesByMember of_vllm = by_member(lines_of_vllm());
  LinesByMember of_facts = by_member(lines_of_facts());
  for (const auto& [original, facts] : classes_with_facts()) {
    if (original->family == "state_space") continue;
    const std::string member(original->name);
    const FactsOfRow theirs = facts_of_row(*facts);
    REQUIRE_MESSAGE(!contradicts(*original, theirs), member);
    for_each_change(*original, theirs.combinations, [&, row = original](const Mutation& mutation) {
      ++survey.num_changes;
      if (is_noticed(*row, mutation.facts, of_vllm[member])) {
        ++survey.num_noticed_by_vllm_lines;
      } else if (is_noticed(*row, mutation.facts, of_facts[member])) {
        ++survey.num_noticed_by_lines_of_facts;
      } else if (contradicts(mutation.facts, theirs)) {
        ++survey.num_unread[kind_of(mutation)];
      } else {
        survey.survivors.push_back({row, mutation});
      }
    });
  }
  return survey;
}

Survey survey_of_state_space_rows() {
  Survey survey;
  for (const auto& [original, facts] : classes_with_facts()) {
    if (original->family != "state_space") continue;
    const FactsOfRow theirs = facts_of_row(*facts);
    std::vector<Mutation> mutations = mutations_of(*original);
    mutations.push_back({"get_name", *original});
    mutations.back().facts.get_name = "ANOTHER";
    for (const Mutation& mutation : mutations) {
      ++survey.num_changes;
      if (is_noticed_by_state_space_lines(*original, mutation.facts)) {
        ++survey.num_noticed_by_vllm_lines;
      } else if (contradicts(mutation.facts, theirs)) {
        ++survey.num_unread[kind_of(mutation)];
      } else {
        survey.survivors.push_back({original, mutation});
      }
    }
  }
  return survey;
}

std::string to_string(const std::map<std::string, std::size_t>& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + name;
  }
  return text;
}

void check_survivors(const Survey& survey) {
  std::map<std::string, std::size_t> num_by_explanation;
  for (const Survivor& survivor : survey.survivors) {
    const std::string why = why_it_may_survive(survivor);
    CHECK_MESSAGE(!why.empty(), survivor.original->name << ": " << survivor.mutation.what);
    ++num_by_explanation[why];
  }
  for (const auto& [why, number] : num_by_explanation) {
    MESSAGE(number << " change no answer: " << why);
  }
}

// For each change that vLLM's own lines do not notice, the first line made from facts that does, unless one that
// is there already does.
std::vector<std::string> lines_wanted(const BackendFacts& row,
                                      const FactsOfRow& theirs,
                                      const std::vector<const GoldenLine*>& of_vllm) {
  std::vector<LineOfFacts> candidates = theirs.lines;
  for (LineOfFacts& line : random_lines(*theirs.facts)) candidates.push_back(std::move(line));
  REQUIRE_MESSAGE(!has_other_reasons(row, candidates), row.name);
  std::vector<LineOfFacts> wanted;
  for_each_change(row, theirs.combinations, [&](const Mutation& mutation) {
    if (is_noticed(row, mutation.facts, of_vllm)) return;
    if (has_other_reasons(mutation.facts, wanted)) return;
    const auto line =
        std::find_if(candidates.begin(), candidates.end(), [&](const LineOfFacts& candidate) {
          return has_other_reasons(mutation.facts, {candidate});
        });
    if (line != candidates.end()) wanted.push_back(*line);
  });
  std::vector<std::string> texts;
  for (const LineOfFacts& line : wanted) {
    const std::string id = std::string(row.name) + "/" + std::to_string(texts.size());
    texts.push_back(golden_text(line, id, std::string(row.name)));
  }
  return texts;
}

}  // namespace

TEST_SUITE("mutations") {
  TEST_CASE("every change of a row that selection reads is noticed by a golden line") {
    const Survey survey = survey_of_ordinary_rows();
    MESSAGE(survey.num_changes << " changes of ordinary rows: " << survey.num_noticed_by_vllm_lines
                               << " noticed by selection.jsonl, "
                               << survey.num_noticed_by_lines_of_facts
                               << " by selection_of_facts.jsonl");
    MESSAGE("not read by selection, noticed by backends.json: " << to_string(survey.num_unread));
    CHECK(survey.num_changes > 2500);
    CHECK(survey.num_noticed_by_vllm_lines > 1400);
    const std::set<std::string> unread = {"is_ssm", "supports_alibi_sqrt", "rule for AMD's GPUs"};
    for (const auto& [kind, number] : survey.num_unread) CHECK_MESSAGE(unread.count(kind), kind);
    check_survivors(survey);
  }

  TEST_CASE("every change of a state-space row is noticed by a golden line or by its facts") {
    const Survey survey = survey_of_state_space_rows();
    MESSAGE(survey.num_changes << " changes of state-space rows: "
                               << survey.num_noticed_by_vllm_lines << " noticed by selector.jsonl");
    MESSAGE("not read by selection, noticed by backends.json: " << to_string(survey.num_unread));
    // The name that a class calls itself, and whether it keeps its bits in every batch.
    CHECK(survey.num_noticed_by_vllm_lines == 2 * 5);
    check_survivors(survey);
  }

  // What makes the table: test_selection_mutations --no-skip -tc="write*"
  TEST_CASE("write selection_of_facts.jsonl" * doctest::skip()) {
    LinesByMember of_vllm = by_member(lines_of_vllm());
    std::ofstream file(golden_file("selection_of_facts.jsonl"));
    for (const auto& [row, facts] : classes_with_facts()) {
      if (row->family == "state_space") continue;
      const FactsOfRow theirs = facts_of_row(*facts);
      for (const std::string& text : lines_wanted(*row, theirs, of_vllm[std::string(row->name)])) {
        file << text << '\n';
      }
    }
    CHECK(file.good());
  }

  TEST_CASE("two neighbours of any list of priorities cannot change places unnoticed") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    std::map<const std::vector<std::string_view>*, std::vector<const GoldenLine*>> by_list;
    for (const GoldenLine& line : lines_of_vllm()) {
      if (!line.forced) by_list[&backend_priorities(line.question)].push_back(&line);
    }
    CHECK(by_list.size() == 9);
    for (const auto& [list, lines] : by_list) {
      for (std::size_t place = 0; place + 1 < list->size(); ++place) {
        std::vector<std::string_view> swapped = *list;
        std::swap(swapped[place], swapped[place + 1]);
        const bool noticed = std::any_of(lines.begin(), lines.end(), [&](const GoldenLine* line) {
          const Selection ours = select_among(line->question, swapped, registry);
          return !agrees(*line, ours);
        });
        CHECK_MESSAGE(noticed, swapped[place + 1] << " before " << swapped[place]);
      }
    }
  }
}
