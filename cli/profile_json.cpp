#include "cli/profile_listing.h"

namespace pagelab::cli {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const simt::MemoryCounts& counts) {
  return {{"requests", counts.requests},     {"lanes", counts.lanes},
          {"bytes", counts.bytes},           {"sectors", counts.sectors},
          {"wavefronts", counts.wavefronts}, {"conflicts", counts.conflicts}};
}

// Kinds that did not occur are left out.
ordered_json json_of(const simt::Counters& counters) {
  ordered_json document = ordered_json::object();
  for (std::size_t kind = 0; kind < simt::kNumMemoryKinds; ++kind) {
    if (counters.memory[kind].requests == 0) continue;
    document[to_string(static_cast<simt::MemoryKind>(kind))] = json_of(counters.memory[kind]);
  }
  for (std::size_t kind = 0; kind < simt::kNumWordKinds; ++kind) {
    if (counters.words[kind] == 0) continue;
    document[to_string(static_cast<simt::WordKind>(kind))] = counters.words[kind];
  }
  return document;
}

ordered_json json_of(const simt::LaunchCounters& launch) {
  ordered_json document;
  document["kernel"] = launch.kernel;
  document["grid"] = {launch.grid.x, launch.grid.y, launch.grid.z};
  document["cta"] = {launch.cta.x, launch.cta.y, launch.cta.z};
  document["totals"] = json_of(launch.totals);
  document["lines"] = ordered_json::array();
  for (const simt::LineCounters& line : launch.lines) {
    document["lines"].push_back({{"line", line.line}, {"counters", json_of(line.counters)}});
  }
  return document;
}

}  // namespace

ordered_json json_of(const ProfiledKernel& kernel,
                     const std::vector<simt::LaunchCounters>& launches) {
  ordered_json document;
  document["kernel"] = kernel.name;
  document["shape"] = ordered_json::object();
  for (const ShapeField& field : kernel.shape.fields()) document["shape"][field.name] = field.value;
  document["launches"] = ordered_json::array();
  for (const simt::LaunchCounters& launch : launches) {
    document["launches"].push_back(json_of(launch));
  }
  return document;
}

}  // namespace pagelab::cli
