// Whether the tables would notice: one fact of the catalogue is changed at a time, and some line must then
// have another answer. The lines are the 1,570 of selection.jsonl and, because those ask a backend that is
// never chosen automatically little more than its name, lines that are made from backends.json: a question
// for each value of each field, with the reasons that vLLM's facts give. What survives both stands in a
// list with its reason.

#include "tests/reference/registry/mutations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "reference/registry/catalogue.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/priorities.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/selection.h"
#include "reference/registry/validate_configuration.h"
#include "reference/replay/question_json.h"
#include "tests/reference/registry/catalogue_json.h"
#include "tests/reference/registry/json_predicates.h"
#include "tests/reference/registry/random_question.h"
#include "tests/support/environment.h"

using namespace pagelab;
using test::Mutation;

namespace {

using Json = nlohmann::ordered_json;
using Reasons = std::vector<std::string>;

// A line of the golden table, with vLLM's answer.
struct GoldenLine {
  SelectionQuestion question;
  std::optional<std::string> forced;
  std::optional<std::string> selected;
  std::optional<std::string> error;
  std::map<std::string, Reasons> invalid;
};

GoldenLine golden_line(const Json& line) {
  GoldenLine golden;
  golden.question = selection_question_of(line);
  golden.forced = optional_field<std::string>(line, "forced");
  const Json& expect = line.at("expect");
  golden.selected = optional_field<std::string>(expect, "selected");
  golden.error = optional_field<std::string>(expect, "error");
  golden.invalid = expect.at("invalid").get<std::map<std::string, Reasons>>();
  return golden;
}

const std::vector<GoldenLine>& golden_lines() {
  static const std::vector<GoldenLine> kLines = [] {
    std::vector<GoldenLine> lines;
    std::ifstream file(test::golden_dir() / "registry" / "selection.jsonl");
    for (std::string line; std::getline(file, line);)
      lines.push_back(golden_line(Json::parse(line)));
    return lines;
  }();
  return kLines;
}

// The lines in which a member is asked.
std::map<std::string, std::vector<const GoldenLine*>> lines_by_member() {
  std::map<std::string, std::vector<const GoldenLine*>> lines;
  for (const GoldenLine& line : golden_lines()) {
    if (line.forced) {
      lines[*line.forced].push_back(&line);
      continue;
    }
    for (const std::string_view name : backend_priorities(line.question)) {
      lines[std::string(name)].push_back(&line);
    }
  }
  return lines;
}

bool agrees(const GoldenLine& line, const Selection& ours) {
  if (ours.selected != line.selected) return false;
  if (ours.error.has_value() != line.error.has_value()) return false;
  if (ours.error && ours.error->message != *line.error) return false;
  if (ours.invalid.size() != line.invalid.size()) return false;
  return std::all_of(ours.invalid.begin(), ours.invalid.end(),
                     [&](const DeclinedBackend& declined) {
                       const auto theirs = line.invalid.find(declined.name);
                       return theirs != line.invalid.end() && theirs->second == declined.reasons;
                     });
}

// Whether some line has another answer with these rows.
bool is_noticed(const std::vector<const BackendFacts*>& rows,
                const std::vector<const GoldenLine*>& lines) {
  const BackendRegistry registry = BackendRegistry::of_attention(rows);
  return std::any_of(lines.begin(), lines.end(), [&](const GoldenLine* line) {
    return !agrees(*line, select_attention_backend(line->question, line->forced, registry));
  });
}

// What one backend is asked, with the reasons that vLLM's facts give.
struct MadeLine {
  SelectionQuestion question;
  Reasons reasons;
};

constexpr std::array<bool AttentionSelectorConfig::*, 13> kFeatures = {
    &AttentionSelectorConfig::use_mla,
    &AttentionSelectorConfig::has_sink,
    &AttentionSelectorConfig::use_sparse,
    &AttentionSelectorConfig::use_mm_prefix,
    &AttentionSelectorConfig::use_per_head_quant_scales,
    &AttentionSelectorConfig::has_sliding_window,
    &AttentionSelectorConfig::use_non_causal,
    &AttentionSelectorConfig::use_batch_invariant,
    &AttentionSelectorConfig::use_kv_connector,
    &AttentionSelectorConfig::use_pcp,
    &AttentionSelectorConfig::use_adaptive_verification,
    &AttentionSelectorConfig::use_dcp,
    &AttentionSelectorConfig::use_rswa};

// Every size that some list holds, and their neighbours.
constexpr std::array<std::int64_t, 47> kSizes = {
    1,   7,   8,   9,   15,  16,  17,  24,  31,  32,  33,  40,  48,  63,  64,  65,
    72,  80,  96,  112, 120, 128, 144, 160, 176, 192, 208, 224, 240, 255, 256, 257,
    264, 272, 288, 320, 384, 448, 504, 512, 513, 520, 544, 576, 640, 784, 1024};

// One field at a time takes each of its values; the others are what the backend takes, as far as one can say.
std::vector<SelectionQuestion> one_field_changed(const SelectionQuestion& accepted) {
  std::vector<SelectionQuestion> questions = {accepted};
  const auto changed = [&]() -> AttentionSelectorConfig& {
    return questions.emplace_back(accepted).config;
  };
  for (const char* dtype : {"float16", "bfloat16", "float32"}) changed().dtype = dtype;
  changed().kv_cache_dtype.reset();
  for (const std::string_view dtype : kv_cache_dtype_names()) {
    changed().kv_cache_dtype = std::string(dtype);
  }
  for (const std::int64_t size : kSizes) {
    changed().head_size = size;
    changed().block_size = size;
  }
  for (const AttentionType type : {AttentionType::kDecoder, AttentionType::kEncoder,
                                   AttentionType::kEncoderOnly, AttentionType::kEncoderDecoder}) {
    changed().attn_type = type;
  }
  for (bool AttentionSelectorConfig::*feature : kFeatures) {
    AttentionSelectorConfig& config = changed();
    config.*feature = !(config.*feature);
  }
  AttentionSelectorConfig& both = changed();
  both.use_mla = both.use_non_causal = both.use_dcp = true;
  return questions;
}

// These changes on every GPU that vLLM's classes were asked at.
std::vector<MadeLine> made_lines(const test::Json& facts) {
  SelectionQuestion accepted;
  accepted.config.head_size = 128;
  accepted.config.dtype = facts.at("dtypes").at(0);
  accepted.config.kv_cache_dtype = facts.at("kv_cache_dtypes").at("list").at(0).get<std::string>();
  accepted.config.use_mla = test::flag_at(facts.at("is_mla"), "9.0");
  accepted.config.use_sparse = test::flag_at(facts.at("is_sparse"), "9.0");
  std::vector<MadeLine> lines;
  for (const SelectionQuestion& question : one_field_changed(accepted)) {
    for (const std::string& capability : test::swept_capabilities()) {
      MadeLine line{question, {}};
      line.question.capability = test::question_at(capability).capability;
      line.reasons = test::reasons_by_facts(facts, line.question);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Questions to the rules of what goes together: random ones, because they read all fields, the model and
// what is installed.
std::vector<MadeLine> lines_of_combinations(const test::Json& facts) {
  constexpr int kNumQuestions = 3000;
  test::RandomQuestions questions(20261130);
  std::vector<MadeLine> lines;
  for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
    MadeLine line{questions.next(), {}};
    line.reasons = test::combination_reasons_by_facts(facts, line.question);
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

// All lines about one backend.
struct LinesOfRow {
  std::vector<const GoldenLine*> golden;
  std::vector<MadeLine> made;
  std::vector<MadeLine> combinations;
};

bool is_noticed_by_made_lines(const BackendFacts& facts, const LinesOfRow& lines) {
  return std::any_of(lines.made.begin(), lines.made.end(),
                     [&](const MadeLine& line) {
                       return validate_configuration(facts, line.question) != line.reasons;
                     }) ||
         std::any_of(lines.combinations.begin(), lines.combinations.end(),
                     [&](const MadeLine& line) {
                       return combination_reasons(facts, line.question) != line.reasons;
                     });
}

// A change that no line notices.
struct Survivor {
  const BackendFacts* original;
  Mutation mutation;
};

// Whether both rows accept the same block sizes everywhere.
bool accept_same_block_sizes(const BackendFacts& a, const BackendFacts& b) {
  for (const std::string& capability : test::swept_capabilities()) {
    SelectionQuestion question = test::question_at(capability);
    for (std::int64_t size = 1; size <= test::kLargestSize; ++size) {
      question.config.block_size = size;
      if (supports_block_size(a, question) != supports_block_size(b, question)) return false;
    }
  }
  return true;
}

// Why no line could notice it; empty: one should.
std::string why_it_may_survive(const Survivor& survivor) {
  const std::string& what = survivor.mutation.what;
  const BackendFacts& original = *survivor.original;
  if (what.starts_with("is_ssm") || what.starts_with("supports_alibi_sqrt")) {
    return "selection does not read the fact (catalogue_test.cpp compares it)";
  }
  if (what.starts_with("kernel_block_sizes") &&
      accept_same_block_sizes(original, survivor.mutation.facts)) {
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
  std::size_t num_noticed_by_golden_lines = 0;
  std::vector<Survivor> survivors;
};

// Tries one change: `rows` holds the changed row.
void try_change(const BackendFacts& original,
                const Mutation& mutation,
                const std::vector<const BackendFacts*>& rows,
                const LinesOfRow& lines,
                Survey& survey) {
  ++survey.num_changes;
  if (is_noticed(rows, lines.golden)) {
    ++survey.num_noticed_by_golden_lines;
  } else if (!is_noticed_by_made_lines(mutation.facts, lines)) {
    survey.survivors.push_back({&original, mutation});
  }
}

Survey survey_of_all_rows() {
  Survey survey;
  auto golden = lines_by_member();
  std::vector<const BackendFacts*> rows = attention_backends();
  const auto pairs = test::rows_with_facts();
  for (std::size_t row_idx = 0; row_idx < rows.size(); ++row_idx) {
    const BackendFacts& original = *rows[row_idx];
    if (original.class_name.empty()) continue;
    const std::string member(original.name);
    const test::Json& facts = *pairs[row_idx].second;
    const LinesOfRow lines = {golden[member], made_lines(facts), lines_of_combinations(facts)};
    REQUIRE_MESSAGE(!is_noticed_by_made_lines(original, lines), member);
    for (const Mutation& mutation : test::mutations_of(original)) {
      rows[row_idx] = &mutation.facts;
      try_change(original, mutation, rows, lines, survey);
    }
    std::set<std::string> reasons;
    for (const MadeLine& line : lines.combinations) {
      reasons.insert(line.reasons.begin(), line.reasons.end());
    }
    for (const std::string& reason : reasons) {
      if (original.supports_combination == nullptr) continue;
      const Mutation mutation = test::without_combination_reason(original, reason);
      rows[row_idx] = &mutation.facts;
      try_change(original, mutation, rows, lines, survey);
    }
    rows[row_idx] = &original;
  }
  return survey;
}

}  // namespace

TEST_SUITE("mutations") {
  TEST_CASE("every change of a row is noticed by a golden line or stands in the list") {
    const Survey survey = survey_of_all_rows();
    const std::size_t num_noticed = survey.num_changes - survey.survivors.size();
    MESSAGE(survey.num_changes << " changes of rows: " << survey.num_noticed_by_golden_lines
                               << " noticed by golden lines, "
                               << num_noticed - survey.num_noticed_by_golden_lines
                               << " by lines made from vLLM's facts");
    CHECK(survey.num_changes > 2500);
    CHECK(survey.num_noticed_by_golden_lines > 1500);
    std::map<std::string, std::size_t> num_by_explanation;
    for (const Survivor& survivor : survey.survivors) {
      const std::string why = why_it_may_survive(survivor);
      CHECK_MESSAGE(!why.empty(), survivor.original->name << ": " << survivor.mutation.what);
      ++num_by_explanation[why];
    }
    for (const auto& [why, number] : num_by_explanation) MESSAGE(number << " survive: " << why);
  }

  TEST_CASE("two neighbours of any list of priorities cannot change places unnoticed") {
    const BackendRegistry registry = BackendRegistry::of_attention();
    std::map<const std::vector<std::string_view>*, std::vector<const GoldenLine*>> by_list;
    for (const GoldenLine& line : golden_lines()) {
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
