// vLLM's combination rules as backends.json writes them, evaluated: the other way to the reasons that the
// catalogue's functions give.
#pragma once

#include <optional>
#include <string>

#include "reference/registry/selection_question.h"
#include "tests/reference/registry/catalogue_json.h"

namespace pagelab::test {

// The reason of the first rule that holds, its gaps filled; none if no rule does.
// \param fired  set to the rule's place in the list, if one holds
std::optional<std::string> reason_by_rules(const Json& rules,
                                           const SelectionQuestion& question,
                                           std::size_t& fired);

}  // namespace pagelab::test
