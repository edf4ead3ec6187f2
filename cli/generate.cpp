// pagelab generate: greedy text of a Llama, many prompts in one continuous batch over a paged cache.
// The model runs on the CPU; cache and attention on the target. With graphs the target has the model, too, where it
// runs kernels.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/option_values.h"
#include "cli/targets.h"
#include "reference/model/character_tokenizer.h"

namespace pagelab::cli {
namespace {

struct GenerateOptions {
  std::string model_folder;
  std::vector<std::string> prompts;
  std::vector<std::string> prompt_files;
  std::vector<std::string> prompt_ids;
  std::int64_t max_tokens = 64;
  BackendOptions backend;
  EngineFlags engine;
  bool show_steps = false;
  bool json = false;
};

/// One request as the user gave it: a text, or token ids for a model without characters.json.
struct Prompt {
  std::optional<std::string> text;
  std::vector<std::int32_t> token_ids;
};

/// What a run found, for both forms of output.
struct Run {
  std::vector<Prompt> prompts;
  std::vector<Generation> generations;
  std::vector<StepRecord> steps;
  EngineOptions engine;
  std::optional<RecordedGraphs> recorded;  // none: nothing was
  std::string replays;                     // the same for people
  std::string why_no_cascade;              // where it was asked for, and no step was one
  std::string backend;
  std::string target;
  std::vector<std::string> log;
  double seconds = 0;
};

std::string read_text_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    throw Error(fmt::format("--prompt-file {}: cannot be read, or is empty.", path));
  }
  return text.str();
}

/// "7,0,12" as token ids.
std::vector<std::int32_t> token_ids_from(const std::string& list) {
  std::vector<std::int32_t> token_ids;
  // getline would not see the empty item behind a last comma.
  std::stringstream stream(list.ends_with(',') ? list + ',' : list);
  std::string item;
  while (std::getline(stream, item, ',')) {
    std::size_t used = 0;
    int token_id = -1;
    try {
      token_id = std::stoi(item, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != item.size()) {
      throw Error(
          fmt::format("--prompt-ids {}: '{}' is not a token id; write integers with commas "
                      "between them.",
                      list, item));
    }
    token_ids.push_back(token_id);
  }
  return token_ids;
}

std::vector<Prompt> collect_prompts(const GenerateOptions& options,
                                    const std::optional<CharacterTokenizer>& tokenizer) {
  std::vector<std::string> texts = options.prompts;
  for (const std::string& path : options.prompt_files) texts.push_back(read_text_file(path));
  std::vector<Prompt> prompts;
  for (const std::string& text : texts) prompts.push_back({text, tokenizer->encode(text)});
  for (const std::string& list : options.prompt_ids) {
    prompts.push_back({std::nullopt, token_ids_from(list)});
  }
  if (prompts.empty()) {
    throw Error("there is no prompt: give --prompt TEXT, --prompt-file FILE or --prompt-ids LIST.");
  }
  return prompts;
}

/// The tokenizer, where texts came in or can go out.
std::optional<CharacterTokenizer> load_tokenizer(const GenerateOptions& options,
                                                 const Llama& model) {
  const std::filesystem::path folder = options.model_folder;
  const bool has_texts = !options.prompts.empty() || !options.prompt_files.empty();
  if (!has_texts && !std::filesystem::exists(folder / "characters.json")) return std::nullopt;
  return CharacterTokenizer::load(folder, model.config().vocab_size);
}

Run run_prompts(const GenerateOptions& options, const Llama& model, std::vector<Prompt> prompts) {
  std::vector<std::vector<std::int32_t>> token_ids;
  for (const Prompt& prompt : prompts) token_ids.push_back(prompt.token_ids);
  ChosenBackend chosen =
      choose_backend(options.backend, kAutomaticBackend,
                     question_of_model(model.config(), options.engine.block_size));
  const AttentionBackend& backend = *chosen.backend;

  Run run;
  DescribedEngine engine = engine_from(options.engine, model.config(), chosen, options.backend.gpu,
                                       token_ids, options.max_tokens);
  run.engine = engine.options;
  run.log = std::move(chosen.log);
  run.log.insert(run.log.end(), engine.log.begin(), engine.log.end());
  run.prompts = std::move(prompts);
  run.backend = backend.name();
  run.target = backend.target();
  const auto start = std::chrono::steady_clock::now();
  EngineCore core(model, backend, run.engine);
  for (const std::vector<std::int32_t>& prompt : token_ids) {
    core.add_request(prompt, options.max_tokens);
  }
  while (core.has_unfinished()) run.steps.push_back(core.step());
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.generations = core.generations();
  if (core.recorded_model() != nullptr) run.recorded = core.recorded_model()->recorded();
  run.replays = replays_of(totals_of(run.steps), run.engine, run.recorded, backend);
  if (run.engine.cascade && totals_of(run.steps).num_cascade_steps == 0) {
    run.why_no_cascade = why_no_cascade(run.steps, run.generations, run.engine, model.config());
  }
  return run;
}

/// A text as JSON; null where the model has no tokenizer of characters.
nlohmann::ordered_json text_or_null(const std::optional<CharacterTokenizer>& tokenizer,
                                    const std::vector<std::int32_t>& token_ids) {
  if (!tokenizer) return nullptr;
  return tokenizer->decode(token_ids);
}

void print_as_json(const Run& run, const std::optional<CharacterTokenizer>& tokenizer) {
  nlohmann::ordered_json document;
  document["requests"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < run.prompts.size(); ++i) {
    const Generation& generation = run.generations[i];
    nlohmann::ordered_json request;
    request["prompt"] = text_or_null(tokenizer, generation.prompt_ids);
    request["prompt_ids"] = generation.prompt_ids;
    request["token_ids"] = generation.token_ids;
    request["text"] = text_or_null(tokenizer, generation.token_ids);
    request["min_top2_gap"] = generation.min_top2_gap;
    request["finish_reason"] = to_string(generation.finish_reason);
    document["requests"].push_back(request);
  }
  document["backend"] = run.backend;
  document["target"] = run.target;
  document["log"] = run.log;
  document["block_size"] = run.engine.block_size;
  document["num_blocks"] = run.engine.num_blocks;
  document["max_num_batched_tokens"] = run.engine.max_num_batched_tokens;
  document["cudagraph_mode"] = to_string(run.engine.cudagraph_mode);
  document["num_steps"] = run.steps.size();
  const StepTotals totals = totals_of(run.steps);
  document["num_hit_tokens"] = totals.num_hit_tokens;
  document["num_preemptions"] = totals.num_preemptions;
  document["num_cascade_steps"] = totals.num_cascade_steps;
  if (!run.why_no_cascade.empty()) document["why_no_cascade"] = run.why_no_cascade;
  for (std::size_t mode = 0; mode < totals.num_steps_of_mode.size(); ++mode) {
    const std::string name = to_string(static_cast<CUDAGraphMode>(mode));
    document["num_steps_of_mode"][name] = totals.num_steps_of_mode[mode];
  }
  document["num_padding_tokens"] = totals.num_padding_tokens;
  if (run.recorded) {
    document["recorded"]["num_steps"] = run.recorded->num_steps;
    document["recorded"]["num_graphs"] = run.recorded->num_graphs;
    document["recorded"]["num_launches"] = run.recorded->num_launches;
  } else {
    document["recorded"] = nullptr;
  }
  document["num_replayed_graphs"] = totals.num_replayed_graphs;
  document["num_replayed_launches"] = totals.num_replayed_launches;
  document["seconds"] = run.seconds;
  fmt::print("{}\n", document.dump(2));
}

/// A text, or token ids where there is no tokenizer.
std::string shown(const std::optional<CharacterTokenizer>& tokenizer,
                  const std::vector<std::int32_t>& token_ids) {
  return tokenizer ? tokenizer->decode(token_ids) : fmt::format("[{}]", fmt::join(token_ids, ","));
}

void print_for_people(const Run& run,
                      const std::optional<CharacterTokenizer>& tokenizer,
                      bool show_steps) {
  print_log(run.log);
  if (show_steps) {
    for (const StepRecord& step : run.steps) fmt::print("{}\n", to_string(step));
    fmt::print("\n");
  }
  std::int64_t num_tokens = 0;
  for (std::size_t i = 0; i < run.generations.size(); ++i) {
    const Generation& generation = run.generations[i];
    fmt::print("--- request {}: {} tokens, nearest tie {:.2g}\n{}|{}\n\n", i,
               generation.token_ids.size(), generation.min_top2_gap,
               shown(tokenizer, generation.prompt_ids), shown(tokenizer, generation.token_ids));
    num_tokens += static_cast<std::int64_t>(generation.token_ids.size());
  }
  fmt::print("{}", to_string(totals_of(run.steps), run.engine));
  if (!run.why_no_cascade.empty()) {
    fmt::print("  none: {}\n", run.why_no_cascade);
  }
  fmt::print("{}", run.replays);
  fmt::print(
      "{} on {}: {} tokens in {} steps, {:.2f} s ({:.0f} tokens/s); {} blocks of {} tokens\n",
      run.backend, run.target, num_tokens, run.steps.size(), run.seconds,
      static_cast<double>(num_tokens) / run.seconds, run.engine.num_blocks, run.engine.block_size);
}

void run_generate(const GenerateOptions& options) {
  const Llama model = Llama::load(options.model_folder);
  const std::optional<CharacterTokenizer> tokenizer = load_tokenizer(options, model);
  const Run run = run_prompts(options, model, collect_prompts(options, tokenizer));
  if (options.json) {
    print_as_json(run, tokenizer);
  } else {
    print_for_people(run, tokenizer, options.show_steps);
  }
}

/// An option that takes one value or more each time it is given. (CLI11's own lists would split a
/// text that begins with '[' and ends with ']' at its commas.)
void add_list_option(CLI::App& command,
                     const std::string& name,
                     std::vector<std::string>& values,
                     const std::string& description) {
  constexpr int kMost = 1'000'000;
  command.add_option(name, values, description)->expected(1, kMost)->allow_extra_args(false);
}

}  // namespace

void add_generate_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue prompts with a Llama, greedily");
  command
      ->add_option("--model", options->model_folder,
                   "a folder with config.json and model.safetensors")
      ->required();
  add_list_option(*command, "--prompt", options->prompts, "a text to continue; several at once");
  add_list_option(*command, "--prompt-file", options->prompt_files,
                  "a file whose text to continue");
  add_list_option(*command, "--prompt-ids", options->prompt_ids,
                  "token ids to continue, as 7,0,12: for models without characters.json");
  command->add_option("--max-tokens", options->max_tokens, "tokens to generate for each prompt")
      ->capture_default_str()
      ->check(whole_number());
  add_backend_options(*command, options->backend, kAutomaticBackend);
  add_engine_options(*command, options->engine);
  command->add_flag("--show-steps", options->show_steps, "print what each step computed");
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback([options, &exit_status] {
    run_generate(*options);
    exit_status = 0;
  });
}

}  // namespace pagelab::cli
