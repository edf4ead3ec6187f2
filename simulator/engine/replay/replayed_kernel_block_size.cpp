// Golden table `kernel_block_size`: the block size that the backends of a cache group agree on.

#include "reference/cache/kernel_blocks.h"
#include "reference/contract/error.h"
#include "reference/contract/refuse.h"
#include "simulator/engine/replay/engine_tables.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

std::vector<AcceptedBlockSize> accepted_sizes_of(const Json& backend) {
  std::vector<AcceptedBlockSize> accepted;
  for (const Json& rule : backend) {
    const bool multiple_of = rule.is_object();
    const Json& size = multiple_of ? rule.at("multiple_of") : rule;
    accepted.push_back({size.get<std::int64_t>(), multiple_of});
    if (accepted.back().size < 1) {
      refuse("backends holds {}; a block size must be at least 1.", rule.dump());
    }
  }
  return accepted;
}

}  // namespace

Json answer_kernel_block_size(const Json& line) {
  const auto manager = line.at("manager").get<std::int64_t>();
  if (manager < 1) refuse("manager is {}; a block size must be at least 1.", manager);
  std::vector<std::vector<AcceptedBlockSize>> backends;
  for (const Json& backend : line.at("backends")) backends.push_back(accepted_sizes_of(backend));
  // The sizes are in range, so all that can be refused now is that they do not agree.
  try {
    return {{"chosen", choose_kernel_block_size(manager, backends)}};
  } catch (const Error&) {
    return {{"chosen", nullptr}};
  }
}

}  // namespace pagelab
