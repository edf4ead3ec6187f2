// pagelab compare STEP: the same attention step on every backend and target of this machine.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/step_comparison.h"
#include "cli/targets.h"

namespace pagelab::cli {
namespace {

struct CompareOptions {
  std::string step_folder;
  RuleOptions rules;
  bool json = false;
};

// The table says how far; `attend` says where.
void print_where_to_look(const std::string& step_folder, const std::vector<ComparedBackend>& rows) {
  for (const ComparedBackend& row : rows) {
    if (!row.agreement || row.agreement->holds()) continue;
    fmt::print("\nWhich elements are too far: ./pagelab attend {} --backend {} --target {}\n",
               step_folder, row.backend, row.target);
    return;
  }
}

int run_compare(const CompareOptions& options) {
  const StepFolder folder = read_step_folder(options.step_folder);
  const std::vector<ComparedBackend> rows =
      compare_on_every_backend(folder.step, folder.expected, options.rules);
  if (options.json) {
    nlohmann::ordered_json document;
    document["step"] = options.step_folder;
    document["notes"] = folder.notes;
    document["backends"] = to_json(rows);
    document["agrees"] = !any_disagrees(rows);
    fmt::print("{}\n", printable(document));
  } else {
    fmt::print("{}\n{}{}", to_string(folder.step), notes_of(folder), to_table(rows));
    if (has_expected_values(folder.expected)) print_where_to_look(options.step_folder, rows);
  }
  return any_disagrees(rows) ? 1 : 0;
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Run one step on every backend and target, and compare");
  command->add_option("STEP", options->step_folder, "a step folder (docs/step_folder.md)")
      ->required();
  add_rule_options(*command, options->rules);
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback([options, &exit_status] { exit_status = run_compare(*options); });
}

}  // namespace pagelab::cli
