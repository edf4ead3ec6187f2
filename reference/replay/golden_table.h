/// \file
/// Golden tables: a file of JSON lines, each a question with somebody's answer. A kind of table is a
/// function that answers a line; everything else is the same for all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pagelab {

/// Answers one line. \returns an object of the line's answer fields, as pagelab computes them
using AnswerLine = std::function<nlohmann::ordered_json(const nlohmann::ordered_json& line)>;

/// A kind of golden table.
struct TableKind {
  std::string name;   ///< as the user writes it: "selection"
  AnswerLine answer;  ///< one line
};

/// A field whose two answers differ.
struct TableDifference {
  std::string line_id;  ///< the line's id, or its number
  std::string field;    ///< "expect/error"
  std::string theirs;   ///< as JSON
  std::string ours;     ///< as JSON
};

/// How a table compares with pagelab.
struct TableReport {
  std::int64_t num_lines = 0;                    ///< in the file
  std::int64_t num_agreeing = 0;                 ///< those without a difference
  std::vector<TableDifference> differences;      ///< the first of each line that has one
  std::vector<nlohmann::ordered_json> answered;  ///< every line, with pagelab's answers in it
};

/// Answers every line of a file.
/// \throws Error  naming the line, if it is no JSON or not a question of this kind
TableReport replay_table(const TableKind& kind, const std::filesystem::path& file);

}  // namespace pagelab
