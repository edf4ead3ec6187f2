// pagelab select: which backend vLLM would choose for a layer, and why not the others.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/select_question.h"
#include "gpu/backends/register_backend.h"
#include "reference/registry/catalogue/rows.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/platforms.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/remedies.h"
#include "reference/registry/remembered_selections.h"
#include "reference/registry/selection.h"
#include "reference/registry/selector.h"

namespace pagelab::cli {
namespace {

constexpr int kNobodyServesIt = 1;
constexpr const char* kCpu = "cpu";
constexpr std::int64_t kDefaultBlockSize = 16;  // of vLLM's cache config

struct LayerChoice {
  SelectionQuestion question;
  Selection selection;
  std::string device;  // "9.0", or "cpu"
};

LayerChoice choice_for(const SelectOptions& options,
                       const SelectionQuestion& question,
                       const std::optional<std::string>& forced,
                       const BackendRegistry& registry,
                       RememberedSelections& memory) {
  if (options.platform == kCpu) {
    return {question,
            select_attention_backend_on_cpu(question, forced, options.has_amx_tiles, registry),
            kCpu};
  }
  return {question, memory.select(question, forced).selection, to_string(question.capability)};
}

// What the other layers of this kind get, who ask the same.
void print_what_repeats_get(const LayerChoice& choice,
                            const std::optional<std::string>& forced,
                            RememberedSelections& memory) {
  if (choice.selection.selected && memory.select(choice.question, forced).is_remembered) {
    fmt::print(
        "  (asked again by another layer, the answer is remembered and nothing is logged)\n");
  }
}

std::string kind_of(const AttentionSelectorConfig& config) {
  return kv_cache_group_kind(config.attn_type, config.use_mla, config.has_sliding_window);
}

// The size that the engine would take; of a choice that was made.
std::int64_t block_size_of(const LayerChoice& choice) {
  return choice.question.config.block_size.value_or(
      preferred_block_size(*choice.selection.facts, choice.question, kDefaultBlockSize));
}

// The row that declined; none if its class could not even be loaded.
const BackendFacts* loaded(const LayerChoice& choice,
                           const std::string& name,
                           const BackendRegistry& registry) {
  try {
    return &registry.load(name, choice.question.environment);
  } catch (const RaisedError&) {
    return nullptr;
  }
}

void print_declined(const LayerChoice& choice,
                    const DeclinedBackend& declined,
                    const BackendRegistry& registry) {
  const BackendFacts* facts = loaded(choice, declined.name, registry);
  for (const std::string& reason : declined.reasons) {
    fmt::print("      {}\n", reason);
    if (facts == nullptr) continue;
    const std::string remedies = to_string(remedies_for(*facts, choice.question, reason));
    fmt::print("        would go away with: {}\n",
               remedies.empty() ? "no single change of the layer, the run or the GPU" : remedies);
  }
  if (facts == nullptr || declined.reasons.size() < 2) return;
  const std::string joint = to_string(joint_remedy_for(*facts, choice.question), " and ");
  fmt::print("      all of them would go away with: {}\n",
             joint.empty() ? "no three changes" : joint);
}

// FlashAttention is three programs, of which the GPU and the record decide.
std::string version_of(const LayerChoice& choice, const std::string& name) {
  if (name != "FLASH_ATTN" || choice.device == kCpu) return "";
  const std::optional<int> version = catalogue::flash_attn_version_of_record(choice.question);
  return version ? fmt::format(", with FlashAttention {}", *version) : "";
}

// Every candidate in the order in which vLLM prefers them.
void print_candidates(const LayerChoice& choice, const BackendRegistry& registry) {
  for (const std::string& name : choice.selection.candidates) {
    const auto declined =
        std::find_if(choice.selection.invalid.begin(), choice.selection.invalid.end(),
                     [&](const DeclinedBackend& backend) { return backend.name == name; });
    if (declined == choice.selection.invalid.end()) {
      fmt::print("    {} is valid{}{}\n", name, version_of(choice, name),
                 name == choice.selection.selected ? ", chosen" : "");
    } else {
      fmt::print("    {} is not:\n", name);
      print_declined(choice, *declined, registry);
    }
  }
}

// What stops a run before any layer asks.
// Source: vLLM, platforms/cuda.py, check_if_supports_dtype, which the worker calls first.
std::optional<std::string> note_of(const LayerChoice& choice) {
  const bool is_asked = choice.question.config.dtype == "bfloat16" && choice.device != kCpu;
  if (!is_asked || choice.question.capability >= DeviceCapability{8, 0}) return std::nullopt;
  return "vLLM does not get this far: its worker refuses bfloat16 on GPUs below 8.0 (--dtype "
         "float16 would do)";
}

void print_choice(const LayerChoice& choice, bool explain, const BackendRegistry& registry) {
  const Selection& selection = choice.selection;
  fmt::print("{} on {}: ", kind_of(choice.question.config), choice.device);
  if (selection.selected) {
    fmt::print("{}, blocks of {}\n", *selection.selected, block_size_of(choice));
  } else {
    fmt::print("nobody\n");
  }
  if (explain) print_candidates(choice, registry);
  if (const auto note = note_of(choice)) fmt::print("  NOTE {}\n", *note);
  if (explain && selection.debug) fmt::print("  DEBUG {}\n", *selection.debug);
  if (selection.warning) fmt::print("  WARNING {}\n", *selection.warning);
  if (selection.info) fmt::print("  INFO {}\n", *selection.info);
  if (selection.error) {
    fmt::print("  {}: {}\n", selection.error->kind, selection.error->message);
    if (!explain && !selection.invalid.empty()) {
      fmt::print("  --explain says of every reason what would make it go away\n");
    }
  }
}

nlohmann::ordered_json to_json(const LayerChoice& choice) {
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? nlohmann::ordered_json(*text) : nlohmann::ordered_json(nullptr);
  };
  const Selection& selection = choice.selection;
  nlohmann::ordered_json layer;
  layer["kind"] = kind_of(choice.question.config);
  layer["record"] = to_string(choice.question.config);
  layer["selected"] = or_null(selection.selected);
  layer["block_size"] = nullptr;
  if (selection.selected) layer["block_size"] = block_size_of(choice);
  layer["candidates"] = selection.candidates;
  layer["valid"] = selection.valid;
  layer["invalid"] = nlohmann::ordered_json::object();
  for (const DeclinedBackend& declined : selection.invalid) {
    layer["invalid"][declined.name] = declined.reasons;
  }
  layer["error"] = nullptr;
  if (selection.error) layer["error"] = selection.error->message;
  layer["warning"] = or_null(selection.warning);
  layer["info"] = or_null(selection.info);
  layer["debug"] = or_null(selection.debug);
  layer["note"] = or_null(note_of(choice));
  return layer;
}

void print_json(const std::vector<LayerChoice>& choices) {
  nlohmann::ordered_json document;
  document["capability"] = choices.front().device;
  document["layers"] = nlohmann::ordered_json::array();
  for (const LayerChoice& choice : choices) document["layers"].push_back(to_json(choice));
  fmt::print("{}\n", document.dump(2));
}

int select(const SelectOptions& options) {
  const BackendRegistry registry = registry_in_use();
  const std::optional<std::string> forced = forced_backend_of(options, registry);
  RememberedSelections memory(registry);
  std::vector<LayerChoice> choices;
  bool all_served = true;
  for (const SelectionQuestion& question : questions_of(options, registry)) {
    choices.push_back(choice_for(options, question, forced, registry, memory));
    all_served = all_served && choices.back().selection.selected;
  }
  if (options.json) {
    print_json(choices);
  } else {
    for (const LayerChoice& choice : choices) {
      print_choice(choice, options.explain, registry);
      if (options.explain) print_what_repeats_get(choice, forced, memory);
    }
  }
  return all_served ? 0 : kNobodyServesIt;
}

}  // namespace

void add_select_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("select",
                                         "which backend vLLM 0.32.0 chooses for a layer, and why "
                                         "not the others; exit status 1 if none");
  auto options = std::make_shared<SelectOptions>();
  add_select_options(*command, *options);
  command->callback([options, &exit_status] { exit_status = select(*options); });
}

}  // namespace pagelab::cli
