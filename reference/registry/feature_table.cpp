#include "reference/registry/feature_table.h"

#include <algorithm>
#include <array>
#include <functional>

#include "reference/registry/catalogue.h"
#include "reference/registry/feature_cells.h"
#include "reference/registry/flash_attn_version.h"
#include "reference/registry/priorities.h"
#include "reference/registry/python_text.h"

namespace pagelab {
namespace {

using Cells = std::vector<std::string>;

// One GPU of each generation; what the table says of it is said of its generation.
constexpr std::array<DeviceCapability, 6> kGenerations = {
    {{7, 5}, {8, 0}, {9, 0}, {10, 0}, {11, 0}, {12, 0}}};

// Which of its kernels a backend drives on a GPU.
std::string version_cell(const BackendFacts& facts, const SelectionQuestion& question) {
  if (facts.name == "FLASH_ATTN" || facts.name == "FLASH_ATTN_DIFFKV") {
    return "FA" + std::to_string(flash_attn_version(question).value_or(2)) + "*";
  }
  if (facts.name != "FLASHINFER") return "";
  switch (question.capability.major) {
    case 10:
      return "trtllm-gen†";
    case 9:
    case 12:
      return "XQA†";
    default:
      return "Native†";
  }
}

constexpr const char* kPagelabColumn = "pagelab";

enum class Columns { kOrdinary, kWithoutVersion, kLatent };

Cells column_names(Columns columns) {
  Cells names = {"Backend"};
  if (columns == Columns::kOrdinary) names.emplace_back("Version");
  for (const char* name :
       {"Dtypes", "KV Dtypes", "Block Sizes", "Head Sizes", "Sink", "Non-Causal"}) {
    names.emplace_back(name);
  }
  if (columns == Columns::kLatent) names.emplace_back("Sparse");
  for (const char* name : {"MM Prefix", "DCP", "Attention Types", "Compute Cap.", kPagelabColumn}) {
    names.emplace_back(name);
  }
  return names;
}

// How the cells of a table are worded, and what the last one goes by.
struct Wording {
  const YesNo& words;
  const std::vector<Implementation>& own;
};

// Where pagelab's own backend of a name runs.
std::string pagelab_cell(std::string_view name, const Wording& wording) {
  for (const Implementation& implementation : wording.own) {
    if (implementation.name == name) return comma_separated(implementation.targets);
  }
  return wording.words.no;
}

// All but the last two cells: on which GPUs these hold, and where pagelab has the backend.
Cells cells_on(const BackendFacts& facts,
               DeviceCapability capability,
               Columns columns,
               const YesNo& words) {
  SelectionQuestion question;
  question.capability = capability;
  const auto flag = [&](const Fact<bool>& fact) { return fact(question) ? words.yes : words.no; };
  Cells cells = {std::string(facts.name)};
  if (columns == Columns::kOrdinary) cells.push_back(version_cell(facts, question));
  cells.push_back(dtypes_cell(facts));
  cells.push_back(kv_cache_dtypes_cell(facts, question));
  cells.push_back(block_sizes_cell(facts, question));
  cells.push_back(head_sizes_cell(facts, question));
  cells.push_back(flag(facts.supports_sink));
  cells.push_back(flag(facts.supports_non_causal));
  if (columns == Columns::kLatent) cells.push_back(flag(facts.is_sparse));
  cells.push_back(flag(facts.supports_mm_prefix));
  cells.push_back(flag(facts.supports_dcp));
  cells.push_back(attn_types_cell(facts));
  return cells;
}

// The same cells, and the generations that have them.
struct RowOfGenerations {
  Cells cells;
  Cells generations;
};

std::vector<RowOfGenerations> rows_by_generation(const BackendFacts& facts,
                                                 Columns columns,
                                                 const YesNo& words) {
  std::vector<RowOfGenerations> rows;
  for (const DeviceCapability capability : kGenerations) {
    SelectionQuestion question;
    question.capability = capability;
    if (!supports_compute_capability(facts, question)) continue;
    const Cells cells = cells_on(facts, capability, columns, words);
    auto same = std::find_if(rows.begin(), rows.end(),
                             [&](const RowOfGenerations& row) { return row.cells == cells; });
    if (same == rows.end()) same = rows.insert(rows.end(), {cells, {}});
    same->generations.push_back(std::to_string(capability.major) + ".x");
  }
  return rows;
}

void add_rows(const BackendFacts& facts,
              const Wording& wording,
              Columns columns,
              FeatureTable& table) {
  std::vector<RowOfGenerations> rows = rows_by_generation(facts, columns, wording.words);
  const bool is_of_no_cuda_gpu = rows.empty();
  if (is_of_no_cuda_gpu) rows.push_back({cells_on(facts, {9, 0}, columns, wording.words), {}});
  for (RowOfGenerations& row : rows) {
    row.cells.push_back(rows.size() == 1 ? capabilities_cell(facts)
                                         : comma_separated(row.generations));
    row.cells.push_back(pagelab_cell(facts.name, wording));
    table.rows.push_back(row.cells);
  }
}

bool is_latent(const BackendFacts& facts) { return facts.is_mla(SelectionQuestion()); }
bool is_model_driven(const BackendFacts& facts) { return facts.family == "model_driven"; }

FeatureTable table_of(const std::string& title,
                      Columns columns,
                      const Wording& wording,
                      const std::function<bool(const BackendFacts&)>& belongs) {
  std::vector<const BackendFacts*> rows;
  for (const BackendFacts* row : attention_backends()) {
    if (!row->class_name.empty() && belongs(*row)) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const BackendFacts* a, const BackendFacts* b) { return a->name < b->name; });
  FeatureTable table{title, column_names(columns), {}};
  for (const BackendFacts* row : rows) add_rows(*row, wording, columns, table);
  return table;
}

FeatureTable state_space_table(const Wording& wording) {
  FeatureTable table{
      "State space", {"Backend", "Name", "KV Dtypes", "Block Sizes", kPagelabColumn}, {}};
  for (const BackendFacts* row : mamba_attention_backends()) {
    if (row->class_name.empty()) continue;
    const SelectionQuestion question;
    table.rows.push_back({std::string(row->name), std::string(row->get_name),
                          kv_cache_dtypes_cell(*row, question), block_sizes_cell(*row, question),
                          pagelab_cell(row->name, wording)});
  }
  return table;
}

FeatureTable priority_table(const std::string& title, const SelectionQuestion& question) {
  FeatureTable table{title, {"Priority", "Backend"}, {}};
  for (const std::string_view name : backend_priorities(question)) {
    table.rows.push_back({std::to_string(table.rows.size() + 1), std::string(name)});
  }
  return table;
}

}  // namespace

std::vector<FeatureTable> feature_tables(const YesNo& words,
                                         const std::vector<Implementation>& own) {
  const Wording wording = {words, own};
  return {
      table_of("Ordinary layers", Columns::kOrdinary, wording,
               [](const BackendFacts& row) { return !is_latent(row) && !is_model_driven(row); }),
      table_of("Latent layers (MLA)", Columns::kLatent, wording,
               [](const BackendFacts& row) { return is_latent(row) && !is_model_driven(row); }),
      table_of("DeepSeek V4", Columns::kLatent, wording,
               [](const BackendFacts& row) { return is_latent(row) && is_model_driven(row); }),
      table_of("MiniMax M3", Columns::kWithoutVersion, wording,
               [](const BackendFacts& row) { return !is_latent(row) && is_model_driven(row); }),
      state_space_table(wording),
  };
}

FeatureTable own_backends_table(const YesNo& words, const std::vector<Implementation>& own) {
  FeatureTable table{"pagelab's own",
                     {"Backend", "Targets", "Dtypes", "KV Dtypes", "Block Sizes", "Head Sizes",
                      "Sink", "Non-Causal", "MM Prefix", "Window", "Attention Types"},
                     {}};
  const SelectionQuestion question;
  const auto flag = [&](const Fact<bool>& fact) { return fact(question) ? words.yes : words.no; };
  for (const Implementation& implementation : own) {
    const BackendFacts& takes = implementation.takes;
    table.rows.push_back({implementation.name, comma_separated(implementation.targets),
                          dtypes_cell(takes), comma_separated(takes.kv_cache_dtypes),
                          block_sizes_cell(takes, question), head_sizes_cell(takes, question),
                          flag(takes.supports_sink), flag(takes.supports_non_causal),
                          flag(takes.supports_mm_prefix), flag(takes.supports_sliding_window),
                          attn_types_cell(takes)});
  }
  return table;
}

std::vector<FeatureTable> priority_tables() {
  SelectionQuestion question;
  const auto titled = [&question](const std::string& title, int major, bool mm_prefix, bool mla) {
    question.capability = {major, 0};
    question.config.use_mm_prefix = mm_prefix;
    question.config.use_mla = mla;
    return priority_table(title, question);
  };
  std::vector<FeatureTable> tables = {
      titled("Ordinary layers, GPUs of 10.x", 10, false, false),
      titled("Ordinary layers with prefix masks, GPUs of 10.x", 10, true, false),
      titled("Ordinary layers with prefix masks, GPUs of 9.x", 9, true, false),
      titled("Ordinary layers, other GPUs and non-causal layers on 10.x", 9, false, false)};
  tables.push_back(titled("Latent layers, GPUs of 10.x", 10, false, true));
  question.num_heads = 16;
  tables.push_back(titled("Latent layers of at most 16 heads or a quantised cache, GPUs of 10.x",
                          10, false, true));
  tables.push_back(titled("Latent layers, GPUs of 12.x", 12, false, true));
  question.config.head_size = 512;
  tables.push_back(titled("Latent layers with heads of 512, other GPUs", 9, false, true));
  question.config.head_size = 576;
  tables.push_back(titled("Latent layers, other GPUs", 9, false, true));
  return tables;
}

}  // namespace pagelab
