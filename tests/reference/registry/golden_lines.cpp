#include "tests/reference/registry/golden_lines.h"

#include <algorithm>
#include <fstream>

#include "reference/registry/catalogue.h"
#include "reference/registry/other_selections.h"
#include "reference/registry/priorities.h"
#include "reference/registry/raised_error.h"
#include "reference/replay/question_json.h"
#include "tests/support/environment.h"

namespace pagelab::test {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Reasons = std::vector<std::string>;

GoldenLine golden_line(const OrderedJson& line) {
  GoldenLine golden;
  golden.question = selection_question_of(line);
  golden.forced = optional_field<std::string>(line, "forced");
  const OrderedJson& expect = line.at("expect");
  golden.selected = optional_field<std::string>(expect, "selected");
  golden.error = optional_field<std::string>(expect, "error");
  golden.invalid = expect.at("invalid").get<std::map<std::string, Reasons>>();
  return golden;
}

std::vector<GoldenLine> read_lines(const char* name) {
  std::vector<GoldenLine> lines;
  std::ifstream file(golden_file(name));
  for (std::string line; std::getline(file, line);)
    lines.push_back(golden_line(OrderedJson::parse(line)));
  return lines;
}

}  // namespace

std::filesystem::path golden_file(const char* name) { return golden_dir() / "registry" / name; }

const std::vector<GoldenLine>& lines_of_vllm() {
  static const std::vector<GoldenLine> kLines = read_lines("selection.jsonl");
  return kLines;
}

const std::vector<GoldenLine>& lines_of_facts() {
  static const std::vector<GoldenLine> kLines = read_lines("selection_of_facts.jsonl");
  return kLines;
}

LinesByMember by_member(const std::vector<GoldenLine>& all) {
  LinesByMember lines;
  for (const GoldenLine& line : all) {
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

bool is_noticed(const BackendFacts& original,
                const BackendFacts& changed,
                const std::vector<const GoldenLine*>& lines) {
  std::vector<const BackendFacts*> rows = attention_backends();
  std::replace(rows.begin(), rows.end(), &original, &changed);
  const BackendRegistry registry = BackendRegistry::of_attention(rows);
  return std::any_of(lines.begin(), lines.end(), [&](const GoldenLine* line) {
    return !agrees(*line, select_attention_backend(line->question, line->forced, registry));
  });
}

bool is_noticed_by_state_space_lines(const BackendFacts& original, const BackendFacts& changed) {
  static const std::vector<OrderedJson> kLines = [] {
    std::vector<OrderedJson> lines;
    std::ifstream file(golden_file("selector.jsonl"));
    for (std::string text; std::getline(file, text);) {
      OrderedJson line = OrderedJson::parse(text);
      if (line.at("what") == "mamba") lines.push_back(std::move(line));
    }
    return lines;
  }();
  std::vector<const BackendFacts*> rows = mamba_attention_backends();
  std::replace(rows.begin(), rows.end(), &original, &changed);
  const BackendRegistry registry = BackendRegistry::of_mamba(rows);
  return std::any_of(kLines.begin(), kLines.end(), [&](const OrderedJson& line) {
    const OrderedJson& expect = line.at("expect");
    try {
      const std::string_view name =
          mamba_attention_backend(line.at("type"), line.at("batch_invariant"), registry).get_name;
      return expect.at("get_name") != std::string(name);
    } catch (const RaisedError& error) {
      return expect.at("error") != error.with_kind();
    }
  });
}

}  // namespace pagelab::test
