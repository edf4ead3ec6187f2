#include "reference/model/json_file.h"

#include <fmt/format.h>

#include <fstream>

#include "reference/contract/error.h"

namespace pagelab {

nlohmann::json read_json_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(fmt::format("{}: there is no such file.", path.string()));
  }
  std::ifstream stream(path);
  if (!stream) throw Error(fmt::format("{}: cannot be opened for reading.", path.string()));
  try {
    // Printing a value in a message recurses into it: a hostile file must not exhaust the stack.
    constexpr int kMaxDepth = 64;
    return nlohmann::json::parse(
        stream, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
          if (depth <= kMaxDepth) return true;
          throw Error(fmt::format("{}: a value is nested more than {} levels deep.", path.string(),
                                  kMaxDepth));
        });
  } catch (const nlohmann::json::parse_error& parse_error) {
    throw Error(
        fmt::format("{}: not JSON, it goes wrong at byte {}.", path.string(), parse_error.byte));
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: holds a number that is out of range.", path.string()));
  }
}

}  // namespace pagelab
