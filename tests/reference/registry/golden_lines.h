// The golden lines about the choice of a backend, and whether they would notice that a row of the catalogue is
// another one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"
#include "reference/registry/selection.h"

namespace pagelab::test {

// A line of the golden table, with vLLM's answer.
struct GoldenLine {
  SelectionQuestion question;
  std::optional<std::string> forced;
  std::optional<std::string> selected;
  std::optional<std::string> error;
  std::map<std::string, std::vector<std::string>> invalid;
};

std::filesystem::path golden_file(const char* name);  // of tests/golden/registry

const std::vector<GoldenLine>& lines_of_vllm();   // selection.jsonl
const std::vector<GoldenLine>& lines_of_facts();  // selection_of_facts.jsonl

using LinesByMember = std::map<std::string, std::vector<const GoldenLine*>>;

// The lines in which a member is asked.
LinesByMember by_member(const std::vector<GoldenLine>& all);

// Whether a selection is what vLLM answered.
bool agrees(const GoldenLine& line, const Selection& ours);

// Whether some line has another answer if a row is changed.
bool is_noticed(const BackendFacts& original,
                const BackendFacts& changed,
                const std::vector<const GoldenLine*>& lines);

// The same for state-space layers: the lines of selector.jsonl about them.
bool is_noticed_by_state_space_lines(const BackendFacts& original, const BackendFacts& changed);

}  // namespace pagelab::test
