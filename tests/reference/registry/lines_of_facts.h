// Golden lines made from backends.json: what one backend is asked, and the reasons that vLLM's facts give. The
// lines that vLLM itself answered ask a backend that is never chosen automatically little more than its name.
#pragma once

#include <string>
#include <vector>

#include "reference/registry/selection_question.h"
#include "tests/reference/registry/catalogue_json.h"

namespace pagelab::test {

struct LineOfFacts {
  SelectionQuestion question;
  std::vector<std::string> reasons;  // empty: it is valid
};

// One field at a time takes each of its values, on every GPU that vLLM's classes were asked at.
std::vector<LineOfFacts> systematic_lines(const Json& facts);

// Random records and models, for the rules of what goes together. Everything is installed. None for a backend
// whose facts depend on the record.
std::vector<LineOfFacts> random_lines(const Json& facts);

// The line as selection.jsonl writes it, without fields that have their defaults: the member is forced.
std::string golden_text(const LineOfFacts& line, const std::string& id, const std::string& member);

}  // namespace pagelab::test
