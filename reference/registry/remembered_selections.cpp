#include "reference/registry/remembered_selections.h"

#include "reference/registry/gpu_names.h"
#include "reference/registry/python_text.h"

namespace pagelab {

RememberedSelections::Answer RememberedSelections::select(
    const SelectionQuestion& question, const std::optional<std::string>& forced) {
  const std::string key = forced.value_or("auto") + " " + to_string(question.config) + " " +
                          python_number(question.num_heads) + " " + to_string(question.capability);
  const auto remembered = selections_.find(key);
  if (remembered != selections_.end()) return {remembered->second, true};
  Selection selection = select_attention_backend(question, forced, registry_);
  return {selections_.emplace(key, std::move(selection)).first->second, false};
}

}  // namespace pagelab
