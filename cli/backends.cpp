// pagelab backends: the catalogue's tables, and what one backend says of itself.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "cli/backends_page.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "gpu/backends/catalog.h"
#include "gpu/backends/register_backend.h"
#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/catalogue.h"
#include "reference/registry/cudagraph_support.h"
#include "reference/registry/feature_cells.h"
#include "reference/registry/feature_table.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/python_text.h"

namespace pagelab::cli {
namespace {

struct BackendsOptions {
  std::string name;
  std::string gpu;
  bool markdown = false;
  bool html = false;
  bool priorities = false;
};

const YesNo kSymbols = {"✅", "❌"};  // as in vLLM's own documentation

constexpr const char* kUsualGpu = "9.0";

const char* const kFootnotes =
    "* the version of FlashAttention that the GPU leads to, unless --attention-config says "
    "another.\n"
    "† the kernels that FlashInfer drives on that GPU.\n";

// Characters that a terminal shows, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

void print_markdown(const FeatureTable& table) {
  fmt::print("## {}\n\n| {} |\n|", table.title, fmt::join(table.columns, " | "));
  for (std::size_t column = 0; column < table.columns.size(); ++column) fmt::print("---|");
  fmt::print("\n");
  for (const std::vector<std::string>& row : table.rows) {
    fmt::print("| {} |\n", fmt::join(row, " | "));
  }
  fmt::print("\n");
}

void print_text(const FeatureTable& table) {
  std::vector<std::size_t> widths(table.columns.size(), 0);
  std::vector<std::vector<std::string>> lines = {table.columns};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t column = 0; column < line.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(line[column]));
    }
  }
  fmt::print("{}\n", table.title);
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (std::size_t column = 0; column < line.size(); ++column) {
      text += "  " + line[column] + std::string(widths[column] - width_of(line[column]), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  }
  fmt::print("\n");
}

std::vector<Implementation> own_backends() {
  const std::vector<BackendChoice> choices = all_backends();
  return {choices.begin(), choices.end()};
}

// vLLM's backends by the rules of the real ones, then pagelab's own by theirs.
std::vector<FeatureTable> tables_of_features(const YesNo& words) {
  std::vector<FeatureTable> tables = feature_tables(words, own_backends());
  tables.push_back(own_backends_table(words, own_backends()));
  return tables;
}

void print_tables(const BackendsOptions& options) {
  const YesNo words = options.markdown ? kSymbols : YesNo{};
  const std::vector<FeatureTable> tables =
      options.priorities ? priority_tables() : tables_of_features(words);
  for (const FeatureTable& table : tables) {
    options.markdown ? print_markdown(table) : print_text(table);
  }
  if (!options.priorities) fmt::print("{}", kFootnotes);
}

// The rows of a name: the one that selection goes by, and what pagelab implements of it. One of them may be missing.
struct ExplainedBackend {
  const BackendFacts* of_selection = nullptr;  // vLLM's, or of one that was registered
  std::optional<Implementation> own;
};

ExplainedBackend find_backend(const std::string& name) {
  ExplainedBackend found;
  std::set<std::string> seen;
  std::vector<std::string> names;
  const auto add = [&](const std::string& known) {
    if (seen.insert(known).second) names.push_back(known);  // CUSTOM stands in both enums
  };
  for (const auto* rows : {&attention_backends(), &mamba_attention_backends()}) {
    for (const BackendFacts* row : *rows) {
      if (found.of_selection == nullptr && row->name == name) found.of_selection = row;
      add(std::string(row->name));
    }
  }
  for (const Implementation& own : own_backends()) {
    if (own.name == name) found.own = own;
    add(own.name);
  }
  for (const BackendChoice& registered : registered_backends()) {
    const bool has_rules_of_vllm = found.of_selection && !found.of_selection->class_name.empty();
    if (registered.name == name && !has_rules_of_vllm) found.of_selection = &registered.takes;
  }
  if (found.of_selection == nullptr && !found.own) {
    refuse("there is no backend {}{}; there are {}.", name, did_you_mean(name, names),
           fmt::join(names, ", "));
  }
  return found;
}

void print_line(const char* what, std::string_view text) {
  if (!text.empty()) fmt::print("  {:26}{}\n", what, text);
}

std::string features_of(const BackendFacts& facts, const SelectionQuestion& question) {
  const std::vector<std::pair<const char*, const Fact<bool>*>> features = {
      {"MLA alone", &facts.is_mla},
      {"sparse alone", &facts.is_sparse},
      {"recurrent state", &facts.is_ssm},
      {"sinks", &facts.supports_sink},
      {"prefix masks", &facts.supports_mm_prefix},
      {"per-head scales", &facts.supports_per_head_quant_scales},
      {"sliding window", &facts.supports_sliding_window},
      {"R-SWA", &facts.supports_rswa},
      {"non-causal", &facts.supports_non_causal},
      {"batch invariance", &facts.supports_batch_invariance},
      {"KV connector", &facts.supports_kv_connector},
      {"PCP", &facts.supports_pcp},
      {"DCP", &facts.supports_dcp},
      {"adaptive verification", &facts.supports_device_cpu_query_lens_mismatch},
      {"ALiBi of a root", &facts.supports_alibi_sqrt}};
  std::vector<std::string> names;
  for (const auto& [name, fact] : features) {
    if ((*fact)(question)) names.emplace_back(name);
  }
  return comma_separated(names);
}

void print_own(const Implementation& own) {
  const BackendFacts& takes = own.takes;
  const SelectionQuestion question;
  print_line("runs on", comma_separated(own.targets));
  print_line("dtypes", dtypes_cell(takes));
  print_line("cache dtypes", comma_separated(takes.kv_cache_dtypes));
  print_line("block sizes", block_sizes_cell(takes, question));
  print_line("head sizes", head_sizes_cell(takes, question));
  print_line("attention", attn_types_cell(takes));
  print_line("features", features_of(takes, question));
  print_line("and", own.takes_as_well);
}

void print_backend(const BackendFacts& facts, DeviceCapability capability) {
  SelectionQuestion question;
  question.capability = capability;
  fmt::print("{}: {}\n", facts.name,
             facts.description.empty() ? "a backend that was registered." : facts.description);
  const std::string_view path = facts.path.value_or("");
  print_line("class", path.empty() ? "none: it must be registered before use" : path);
  if (facts.class_name.empty()) return;
  print_line("calls itself", facts.get_name);
  print_line("needs", facts.package);
  print_line("GPUs", capabilities_cell(facts));
  fmt::print("  on {}:{}\n", to_string(capability),
             supports_compute_capability(facts, question)
                 ? ""
                 : " not supported (compute capability not supported)");
  print_line("dtypes", dtypes_cell(facts));
  print_line("cache dtypes", kv_cache_dtypes_cell(facts, question));
  print_line("kernel block sizes", block_sizes_cell(facts, question));
  print_line("an open block size is", std::to_string(preferred_block_size(facts, question, 16)));
  print_line("head sizes", head_sizes_cell(facts, question));
  print_line("attention", attn_types_cell(facts));
  print_line("features", features_of(facts, question));
  print_line("CUDA graphs", to_string(cudagraph_support(facts, question)));
  print_line("  which depends", facts.cudagraph_depends);
  const ReorderThreshold& reorder = facts.reorder_batch_threshold;
  if (reorder.class_value) {
    print_line("a decode is a request of",
               fmt::format("up to {} query tokens", *reorder.class_value));
  }
  print_line("  when it is made", reorder.in_constructor);
  print_line("no import without", comma_separated(facts.missing_imports));
  if (facts.kv_page) {
    const KvPage& page = *facts.kv_page;
    print_line("page",
               fmt::format("[{}, {}, {}, {}]", page.blocks, page.heads, page.states, page.content));
    print_line("  its content", page.meaning);
    print_line("  quantised", facts.quantised_page);
  }
  print_line("physical layouts",
             facts.kv_cache_layouts.empty() ? "any" : comma_separated(facts.kv_cache_layouts));
  print_line("notes", facts.notes);
}

void check_options(const BackendsOptions& options) {
  const std::vector<std::pair<std::string_view, bool>> forms = {
      {"--html", options.html},
      {"--markdown", options.markdown},
      {"--priorities", options.priorities}};
  for (const auto& [form, is_asked_for] : forms) {
    if (!is_asked_for) continue;
    if (!options.name.empty()) {
      refuse("{} prints all backends, and {} asks about one: leave one of them out.", form,
             options.name);
    }
    if (options.html && form != "--html") {
      refuse("--html prints one page of everything: leave {} out.", form);
    }
  }
  if (options.name.empty() && !options.gpu.empty()) {
    refuse("--gpu {} asks about one backend: name it, as in backends FLASH_ATTN --gpu {}.",
           options.gpu, options.gpu);
  }
}

void run_backends(const BackendsOptions& options) {
  check_options(options);
  if (options.html) {
    fmt::print("{}", backends_page(tables_of_features({}), priority_tables()));
    return;
  }
  if (options.name.empty()) {
    print_tables(options);
    return;
  }
  const DeviceCapability capability =
      capability_of_gpu(options.gpu.empty() ? kUsualGpu : options.gpu);
  const ExplainedBackend found = find_backend(options.name);
  if (found.of_selection != nullptr) {
    print_backend(*found.of_selection, capability);
  } else if (!options.gpu.empty()) {
    refuse("--gpu {} has no effect on {}, which no selection knows.", options.gpu, options.name);
  }
  if (!found.own) {
    fmt::print("pagelab does not implement it.\n");
    return;
  }
  const std::string_view description = found.own->takes.description;
  fmt::print("pagelab's own {}: {}\n", found.own->name,
             description.empty() ? "a backend that was registered." : description);
  print_own(*found.own);
}

}  // namespace

void add_backends_command(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "backends", "what vLLM 0.32.0's attention backends can do, as tables, or one of them");
  auto options = std::make_shared<BackendsOptions>();
  command->add_option("name", options->name, "explain this one")->check(not_empty());
  command->add_option("--gpu", options->gpu, "for NAME: the GPU that is asked about (default: 9.0)")
      ->check(not_empty());
  command->add_flag("--markdown", options->markdown, "the tables in Markdown");
  command->add_flag("--priorities", options->priorities, "in which order they are tried");
  command->add_flag("--html", options->html,
                    "the tables as a page of HTML that also answers for every GPU and model");
  command->callback([options] { run_backends(*options); });
}

}  // namespace pagelab::cli
