#include "reference/registry/cudagraph_support.h"

#include <fmt/ranges.h>

#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"

namespace pagelab {
namespace {

// In the order of the levels.
const std::vector<std::string> kSupportNames = {"NEVER", "UNIFORM_SINGLE_TOKEN_DECODE",
                                                "UNIFORM_BATCH", "ALWAYS"};

}  // namespace

std::string to_string(AttentionCGSupport support) {
  return kSupportNames[static_cast<std::size_t>(support)];
}

AttentionCGSupport cudagraph_support_of(const std::string& name) {
  for (std::size_t level = 0; level < kSupportNames.size(); ++level) {
    if (name == kSupportNames[level]) return static_cast<AttentionCGSupport>(level);
  }
  refuse("support is {}{}; it may be one of: {}.", name, did_you_mean(name, kSupportNames),
         fmt::join(kSupportNames, ", "));
}

AttentionCGSupport cudagraph_support(const BackendFacts& facts,
                                     const SelectionQuestion& question,
                                     const CudagraphRun& run) {
  if (facts.cudagraph_rule != nullptr) return facts.cudagraph_rule(question, run);
  if (facts.cudagraph) return (*facts.cudagraph)(question);
  return AttentionCGSupport::kNever;
}

MinCGSupport min_cudagraph_support(const std::vector<GroupCGSupport>& groups) {
  MinCGSupport weakest;
  for (const GroupCGSupport& group : groups) {
    if (group.support < weakest.support) weakest = {group.support, group.backend};
  }
  return weakest;
}

}  // namespace pagelab
