#include "reference/replay/golden_table.h"

#include <fstream>
#include <optional>

#include "reference/contract/error.h"
#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

// The first field in which the line's answer differs from ours. An answer that the line does not
// hold is not compared.
std::optional<TableDifference> first_difference(const Json& theirs,
                                                const Json& ours,
                                                const std::string& field) {
  const bool fields_of_both = theirs.is_object() && ours.is_object();
  if (!fields_of_both || field.find('/') != std::string::npos) {
    if (theirs == ours) return std::nullopt;
    return TableDifference{{}, field, theirs.dump(), ours.dump()};
  }
  for (const auto& [key, value] : ours.items()) {
    if (!theirs.contains(key)) continue;
    const std::string inner = field.empty() ? key : field + "/" + key;
    if (auto difference = first_difference(theirs.at(key), value, inner)) return difference;
  }
  // Inside an answer there are no questions: what their answer holds, ours must hold, too.
  if (field.empty()) return std::nullopt;
  for (const auto& [key, value] : theirs.items()) {
    if (!ours.contains(key)) return TableDifference{{}, field + "/" + key, value.dump(), "nothing"};
  }
  return std::nullopt;
}

Json parsed_line(const std::string& text, const std::filesystem::path& file, std::int64_t number) {
  Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) {
    refuse("line {} of {} is not a JSON object; a golden table holds one a line.", number,
           file.string());
  }
  return line;
}

std::string id_of(const Json& line, std::int64_t number) {
  const auto id = line.find("id");
  return id != line.end() && id->is_string() ? id->get<std::string>() : std::to_string(number);
}

Json answered_line(const TableKind& kind,
                   const Json& line,
                   const std::filesystem::path& file,
                   std::int64_t number) {
  const std::string place = "line " + std::to_string(number) + " of " + file.string();
  try {
    return kind.answer(line);
  } catch (const nlohmann::json::exception& error) {
    refuse("{} is not a question of kind {}: {}.", place, kind.name, error.what());
  } catch (const Error& error) {
    refuse("{}: {}", place, error.what());
  }
}

}  // namespace

TableReport replay_table(const TableKind& kind, const std::filesystem::path& file) {
  std::ifstream input(file);
  if (!input || std::filesystem::is_directory(file)) {
    refuse("the golden table {} cannot be read. Is the path right?", file.string());
  }
  TableReport report;
  std::string text;
  while (std::getline(input, text)) {
    const std::int64_t number = ++report.num_lines;
    Json line = parsed_line(text, file, number);
    const Json ours = answered_line(kind, line, file, number);
    std::optional<TableDifference> difference = first_difference(line, ours, "");
    if (difference) {
      difference->line_id = id_of(line, number);
      report.differences.push_back(*difference);
    } else {
      ++report.num_agreeing;
    }
    line.update(ours);
    report.answered.push_back(std::move(line));
  }
  if (report.num_lines == 0) refuse("the golden table {} holds no line.", file.string());
  return report;
}

}  // namespace pagelab
