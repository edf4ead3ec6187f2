#include "simulator/engine/replay/engine_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "reference/contract/refuse.h"

namespace pagelab {

using Json = nlohmann::ordered_json;

std::int32_t number_field(const Json& object, const char* name) {
  const auto number = object.at(name).get<std::int64_t>();
  if (number != static_cast<std::int32_t>(number)) {
    refuse("{} is {}; it must be a number of 32 bits.", name, number);
  }
  return static_cast<std::int32_t>(number);
}

std::int32_t number_field(const Json& object, const char* name, std::int32_t otherwise) {
  return object.contains(name) ? number_field(object, name) : otherwise;
}

std::vector<TokenId> tokens_of_runs(const Json& runs) {
  constexpr std::int64_t kLastToken = std::numeric_limits<TokenId>::max();
  std::vector<TokenId> tokens;
  for (const Json& run : runs) {
    const auto start = run.at(0).get<std::int64_t>();
    const auto count = run.at(1).get<std::int64_t>();
    if (start < 0 || start > kLastToken || count < 0 || count > kLastToken - start) {
      refuse("a run of tokens is {}; it must lie within 0 to {}.", run.dump(), kLastToken);
    }
    for (std::int64_t index = 0; index < count; ++index) {
      tokens.push_back(static_cast<TokenId>(start + index));
    }
  }
  return tokens;
}

std::string fnv_of_blocks(std::span<const BlockId> blocks) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const BlockId block : blocks) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= (static_cast<std::uint32_t>(block) >> shift) & 0xffu;
      hash *= 0x100000001b3u;
    }
  }
  return fmt::format("{:016x}", hash);
}

std::vector<KVCacheGroupSpec> groups_of_json(const Json& groups) {
  std::vector<KVCacheGroupSpec> specs;
  for (const Json& group : groups) {
    const auto kind = group.at("kind").get<std::string>();
    KVCacheGroupSpec& spec = specs.emplace_back();
    if (kind == "swa") {
      spec.sliding_window = number_field(group, "window");
    } else if (kind != "full") {
      refuse("the kind of a group is {}; it may be one of: full, swa.", kind);
    }
  }
  return specs;
}

Json tables_json(const Request& request, std::size_t first) {
  Json tables = Json::array();
  for (const GroupBlocks& group : request.groups) {
    Json ids = Json::array();
    for (std::size_t index = first; index < group.blocks.size(); ++index) {
      ids.push_back(group.blocks[index]);
    }
    tables.push_back(std::move(ids));
  }
  return tables;
}

}  // namespace pagelab
