#include "tests/architecture/arrows.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <span>

namespace pagelab::test {
namespace {

namespace fs = std::filesystem;

struct Room {
  std::string_view name;
  std::vector<std::string_view> may_include;  // besides itself
};

// cli, lessons, tests, benchmarks -> gpu/backends, simulator/engine -> gpu/kernels -> gpu/device
// -> simulator/simt; everything but the simulator may use reference. gpu/runtime owns the memory
// that the backends' host side works with.
const std::vector<Room>& rooms() {
  static const std::vector<std::string_view> everything_below = {
      "gpu/backends", "simulator/engine", "gpu/runtime", "gpu/kernels",
      "gpu/device",   "simulator/simt",   "reference"};
  static const std::vector<Room> kRooms = {
      {"reference", {}},
      {"simulator/simt", {}},
      {"gpu/device", {"simulator/simt", "reference"}},
      {"gpu/kernels", {"gpu/device", "reference"}},
      {"gpu/runtime", {"gpu/device", "simulator/simt", "reference"}},
      {"gpu/backends", {"gpu/runtime", "gpu/kernels", "gpu/device", "simulator/simt", "reference"}},
      {"simulator/engine", {"gpu/runtime", "gpu/kernels", "gpu/device", "reference"}},
      {"benchmarks", everything_below},
      {"cli", everything_below},
      {"lessons", everything_below},
      {"tests", everything_below},
  };
  return kRooms;
}

const Room* find_room(std::string_view path) {
  for (const Room& room : rooms()) {
    const bool is_inside = path.size() > room.name.size() && path.starts_with(room.name) &&
                           path[room.name.size()] == '/';
    if (is_inside) return &room;
  }
  return nullptr;
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".h", ".cpp", ".cu", ".cuh"};
  return kExtensions.contains(path.extension().string());
}

}  // namespace

std::string_view room_of(std::string_view path) {
  const Room* room = find_room(path);
  return room == nullptr ? std::string_view() : room->name;
}

std::string why_forbidden(const Include& include) {
  const std::string place = include.from + ":" + std::to_string(include.line);
  const Room* from = find_room(include.from);
  const Room* to = find_room(include.to);
  if (from == nullptr) return place + " lies in no room; tests/architecture/arrows.cpp has them.";
  if (to == nullptr) {
    return place + " includes \"" + include.to +
           "\"; write the path from the root of the checkout.";
  }
  const bool is_allowed = from == to || std::ranges::count(from->may_include, to->name) > 0;
  if (is_allowed) return "";
  return place + " includes \"" + include.to + "\", but " + std::string(from->name) +
         " may not use " + std::string(to->name) + ".";
}

std::vector<std::string> sources_of(const fs::path& root) {
  std::vector<std::string> sources;
  for (const char* top :
       {"reference", "simulator", "gpu", "cli", "lessons", "tests", "benchmarks"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      sources.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  std::sort(sources.begin(), sources.end());
  return sources;
}

std::vector<Include> includes_of(const fs::path& root, const std::string& from) {
  static const std::regex kQuotedInclude(R"(^\s*#\s*include\s*"([^"]+)\".*)");
  std::vector<Include> includes;
  std::ifstream file(root / from);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    std::smatch match;
    if (std::regex_match(text, match, kQuotedInclude)) {
      includes.push_back({from, line, match[1].str()});
    }
  }
  return includes;
}

std::vector<std::string> reachable_headers(const fs::path& root, const std::string& from) {
  std::set<std::string> reached;
  std::vector<std::string> to_read = {from};
  while (!to_read.empty()) {
    const std::string next = to_read.back();
    to_read.pop_back();
    for (const Include& include : includes_of(root, next)) {
      if (reached.insert(include.to).second) to_read.push_back(include.to);
    }
  }
  return {reached.begin(), reached.end()};
}

}  // namespace pagelab::test
