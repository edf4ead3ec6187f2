#include "simulator/engine/cudagraph/lora_cases.h"

#include <algorithm>

#include "simulator/engine/in_range.h"

namespace pagelab {

std::vector<std::int64_t> lora_cases(const std::optional<LoraCaptureSettings>& lora) {
  if (!lora) return {0};
  require_in_range("max_loras", lora->max_loras, 1);
  // The base model counts as one adapter more.
  const std::int64_t any_number = lora->max_loras + 1;
  if (!lora->cudagraph_specialize_lora) return {any_number};

  std::vector<std::int64_t> cases = {0};
  if (lora->specialize_active_lora) {
    for (std::int64_t power = 1; power < any_number; power *= 2) cases.push_back(power);
  }
  cases.push_back(any_number);
  return cases;
}

std::int64_t captured_lora_case(const std::vector<std::int64_t>& cases,
                                std::int64_t num_active_loras) {
  if (num_active_loras == 0) return 0;
  const auto captured = std::lower_bound(cases.begin(), cases.end(), num_active_loras);
  return captured == cases.end() ? num_active_loras : *captured;
}

}  // namespace pagelab
