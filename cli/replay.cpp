// pagelab replay: answers every line of a golden table, and compares.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/option_values.h"
#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"
#include "reference/replay/golden_table.h"
#include "reference/replay/replayed_registry.h"
#include "simulator/engine/replay/engine_tables.h"

namespace pagelab::cli {
namespace {

constexpr int kALineDiffers = 1;
constexpr std::size_t kShownDifferences = 5;

struct ReplayOptions {
  std::string kind;
  std::string file;
  std::string answers;
};

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kKinds = [] {
    std::vector<TableKind> kinds = {{"selection", answer_selection}, {"selector", answer_selector}};
    const std::vector<TableKind>& of_engine = engine_table_kinds();
    kinds.insert(kinds.end(), of_engine.begin(), of_engine.end());
    return kinds;
  }();
  return kKinds;
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const TableKind& kind : table_kinds()) names.push_back(kind.name);
  return names;
}

const TableKind& find_kind(const std::string& name) {
  for (const TableKind& kind : table_kinds()) {
    if (kind.name == name) return kind;
  }
  const std::vector<std::string> names = names_of_kinds();
  refuse("there is no kind of golden table {}{}; the kinds are {}.", name,
         did_you_mean(name, names), fmt::join(names, ", "));
}

void write_answers(const TableReport& report, const std::string& path) {
  std::ofstream output(path);
  for (const nlohmann::ordered_json& line : report.answered) output << line.dump() << '\n';
  output.flush();
  if (!output) refuse("the answers could not be written to {}. Is the path right?", path);
}

void print_replay(const TableReport& report, const ReplayOptions& options) {
  fmt::print("{} of {} lines of {} agree.\n", report.num_agreeing, report.num_lines, options.file);
  const std::size_t num_shown = std::min(report.differences.size(), kShownDifferences);
  for (std::size_t shown = 0; shown < num_shown; ++shown) {
    const TableDifference& difference = report.differences[shown];
    fmt::print("{}, {}:\n  theirs {}\n  ours   {}\n", difference.line_id, difference.field,
               difference.theirs, difference.ours);
  }
  if (report.differences.size() > num_shown) {
    fmt::print("... and {} more that do not.\n", report.differences.size() - num_shown);
  }
}

int replay(const ReplayOptions& options) {
  const TableReport report = replay_table(find_kind(options.kind), options.file);
  print_replay(report, options);
  if (!options.answers.empty()) write_answers(report, options.answers);
  return report.differences.empty() ? 0 : kALineDiffers;
}

}  // namespace

void add_replay_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "replay",
      "answer every line of a golden table, and compare; exit status 1 if a line differs");
  auto options = std::make_shared<ReplayOptions>();
  command
      ->add_option("kind", options->kind,
                   fmt::format("what the table asks: {}", fmt::join(names_of_kinds(), ", ")))
      ->required();
  command->add_option("file", options->file, "the table, in JSON lines")->required();
  command->add_option("--answers", options->answers, "where to write every line with our answers")
      ->check(not_empty());
  command->callback([options, &exit_status] { exit_status = replay(*options); });
}

}  // namespace pagelab::cli
