// pagelab attend STEP: one attention step from a step folder, on one backend.

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/step_comparison.h"
#include "cli/targets.h"
#include "reference/registry/step_question.h"

namespace pagelab::cli {
namespace {

constexpr const char* kUsualBackend = "REFERENCE";

struct AttendOptions {
  std::string step_folder;
  BackendOptions backend;
  std::string out_folder;
  std::optional<std::int64_t> num_common_prefix_blocks;
  bool json = false;
};

void print_for_people(const StepFolder& folder,
                      const ChosenBackend& chosen,
                      const AttentionResult& result,
                      const std::optional<Agreement>& agreement,
                      const AttendOptions& options) {
  fmt::print("{}\n{}", to_string(folder.step), notes_of(folder));
  print_log(chosen.log);
  fmt::print("backend {} on {}\n", chosen.backend->name(), chosen.backend->target());
  if (options.num_common_prefix_blocks) {
    fmt::print(
        "in a cascade: {} tokens in common attended once, by all queries, and merged with the "
        "rest\n",
        *options.num_common_prefix_blocks * folder.step.cache.spec().block_size);
  }
  fmt::print("output  {}\n", to_string(result.output));
  fmt::print("lse     {}\n", to_string(result.lse));
  if (agreement) {
    fmt::print("\nagainst the expected values of the folder:\n{}", to_string(*agreement));
    fmt::print("{}\n", agreement->holds() ? "agrees" : "DISAGREES");
  } else {
    fmt::print("\nthe folder expects nothing, so nothing was compared\n");
  }
  if (!options.out_folder.empty()) fmt::print("wrote {}\n", options.out_folder);
}

void print_as_json(const StepFolder& folder,
                   const ChosenBackend& chosen,
                   const AttentionResult& result,
                   const std::optional<Agreement>& agreement,
                   const AttendOptions& options) {
  nlohmann::ordered_json document;
  document["backend"] = chosen.backend->name();
  document["target"] = chosen.backend->target();
  document["log"] = chosen.log;
  document["notes"] = folder.notes;
  if (options.num_common_prefix_blocks) {
    document["common_prefix_blocks"] = *options.num_common_prefix_blocks;
  }
  document["output_dtype"] = to_string(result.output.dtype());
  document["output_shape"] = result.output.shape();
  document["agreement"] = agreement ? to_json(*agreement) : nlohmann::ordered_json(nullptr);
  fmt::print("{}\n", printable(document));
}

// A result has files of the same names as a step's cache: written there, it would spoil the step.
void refuse_to_overwrite_the_step(const AttendOptions& options) {
  std::error_code no_such_folder;
  if (std::filesystem::equivalent(options.step_folder, options.out_folder, no_such_folder)) {
    throw Error(
        fmt::format("--out {} is the step folder itself, whose caches would be overwritten: name "
                    "another folder.",
                    options.out_folder));
  }
}

AttentionResult attended(const AttendOptions& options,
                         const AttentionStep& step,
                         const AttentionBackend& backend) {
  if (!options.num_common_prefix_blocks) return attend(step, backend);
  try {
    return attend_cascade(step, *options.num_common_prefix_blocks, backend);
  } catch (const Error& error) {
    // The user may have left the choice open, and the sentence says "this backend".
    throw Error(fmt::format("--common-prefix-blocks {} with {} on {}: {}",
                            *options.num_common_prefix_blocks, backend.name(), backend.target(),
                            error.what()));
  }
}

Agreement agreement_of(const AttendOptions& options,
                       const StepFolder& folder,
                       const AttentionBackend& backend,
                       const AttentionResult& result) {
  if (!options.num_common_prefix_blocks) {
    return agreement_with(folder.step, backend, result, folder.expected);
  }
  const std::int64_t num_blocks = *options.num_common_prefix_blocks;
  AttentionStep after_write = folder.step;
  after_write.cache = result.cache;
  const ErrorBound bound = cascade_error_bound(after_write, num_blocks,
                                               backend.cascade_precision(after_write, num_blocks));
  return agreement_within(folder.step, bound, result, folder.expected);
}

int run_attend(const AttendOptions& options) {
  const StepFolder folder = read_step_folder(options.step_folder);
  if (!options.out_folder.empty()) refuse_to_overwrite_the_step(options);
  const ChosenBackend chosen =
      choose_backend(options.backend, kUsualBackend, question_of_step(folder.step));
  const AttentionResult result = attended(options, folder.step, *chosen.backend);
  if (!options.out_folder.empty()) write_result(options.out_folder, result);

  std::optional<Agreement> agreement;
  if (has_expected_values(folder.expected)) {
    agreement = agreement_of(options, folder, *chosen.backend, result);
  }
  if (options.json) {
    print_as_json(folder, chosen, result, agreement, options);
  } else {
    print_for_people(folder, chosen, result, agreement, options);
  }
  return agreement && !agreement->holds() ? 1 : 0;
}

}  // namespace

void add_attend_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<AttendOptions>();
  CLI::App* command = app.add_subcommand("attend", "Run one attention step from a step folder");
  command->add_option("STEP", options->step_folder, "a step folder (docs/step_folder.md)")
      ->required();
  add_backend_options(*command, options->backend, kUsualBackend);
  command
      ->add_option(
          "--common-prefix-blocks", options->num_common_prefix_blocks,
          "attend in a cascade: all queries at once over this many leading blocks, which all "
          "requests share (docs/cascade.md)")
      ->check(whole_number());
  command->add_option("--out", options->out_folder, "write output, LSE and caches to this folder")
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback([options, &exit_status] { exit_status = run_attend(*options); });
}

}  // namespace pagelab::cli
