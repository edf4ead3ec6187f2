// pagelab demo: the main job in a minute. The lesson program's numbers, a small Llama that answers three
// prompts in one continuous batch over a paged cache of few blocks, on every target of this machine, and
// a table of what agrees with what.

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/lesson_folders.h"
#include "cli/option_values.h"
#include "cli/run_program.h"
#include "cli/step_comparison.h"
#include "cli/targets.h"
#include "gpu/backends/catalog.h"
#include "reference/model/character_tokenizer.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/recording_backend.h"

namespace pagelab::cli {
namespace {

constexpr std::int64_t kNumPrompts = 3;
constexpr std::int64_t kMaxTokens = 80;
constexpr std::int64_t kBlockSize = 16;
// Enough for three prompts, and too few for three texts: one request loses its blocks on the way, waits, and
// computes again what the prefix cache has not kept.
constexpr std::int64_t kNumBlocks = 18;
constexpr std::int64_t kStepTokens = 32;

/// A prompt, and the text that an independent float64 implementation found for it.
struct GoldenText {
  std::string prompt;
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> token_ids;
};

std::vector<GoldenText> read_golden_texts(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw Error(fmt::format("{} cannot be read.", file.string()));
  const nlohmann::json document = nlohmann::json::parse(stream);
  std::vector<GoldenText> texts;
  for (std::int64_t index = 0; index < kNumPrompts; ++index) {
    const nlohmann::json& entry = document.at(static_cast<std::size_t>(index));
    GoldenText text{entry.at("prompt"), entry.at("prompt_ids"), entry.at("output_ids")};
    text.token_ids.resize(kMaxTokens);
    texts.push_back(std::move(text));
  }
  return texts;
}

/// The same three prompts on one backend.
struct DemoRun {
  std::string backend;
  std::string target;
  std::vector<Generation> generations;
  double seconds = 0;
};

class Demo {
 public:
  /// \param gpu    whose rules count in the choice of a backend; none: the GPU's, or Hopper's
  /// \param flags  of the engine
  Demo(std::optional<DeviceCapability> gpu, const EngineFlags& flags)
      : gpu_(gpu),
        flags_(flags),
        folder_(tiny_llama_folder()),
        model_(Llama::load(folder_)),
        tokenizer_(CharacterTokenizer::load(folder_, model_.config().vocab_size)),
        golden_(read_golden_texts(folder_ / "golden_greedy.json")) {}

  /// Runs the whole demo. \returns whether everything agreed
  bool run() {
    fmt::print("pagelab demo: paged attention on the CPU, in the GPU simulator, and on the GPU\n");
    print_lesson();
    print_text();
    const bool tokens_agree = print_tokens();
    const bool steps_agree = print_step();
    print_what_was_skipped();
    return tokens_agree && steps_agree;
  }

 private:
  void print_lesson() const {
    fmt::print("\n1. Paging changes addresses, never results (lesson 02)\n\n");
    std::fflush(stdout);
    const Lesson lesson = find_lesson("2");
    const int exit_status = run_program({lesson.example.string()});
    if (exit_status != 0) {
      throw Error(fmt::format("{} ended with status {}.", lesson.example.string(), exit_status));
    }
  }

  std::vector<std::vector<std::int32_t>> prompts() const {
    std::vector<std::vector<std::int32_t>> prompts;
    for (const GoldenText& text : golden_) prompts.push_back(text.prompt_ids);
    return prompts;
  }

  DemoRun generate_on(const AttentionBackend& backend,
                      const std::function<void(const StepRecord&)>& on_step = {},
                      CUDAGraphMode graphs = CUDAGraphMode::kNone) const {
    EngineOptions options = options_;
    options.cudagraph_mode = graphs;
    const auto start = std::chrono::steady_clock::now();
    DemoRun run{backend.name(), backend.target(), {}, 0};
    run.generations = generate(model_, backend, prompts(), kMaxTokens, options, on_step);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return run;
  }

  // The backend that vLLM would take for this model, among those that pagelab has for the GPU, or for the
  // simulator that stands for one.
  ChosenBackend choose_and_print() const {
    BackendRequest request;
    request.target = target_is_available("cuda") ? "cuda" : "simulator";
    request.gpu = gpu_;
    ChosenBackend chosen =
        choose_backend(request, question_of_model(model_.config(), flags_.block_size));
    fmt::print("   the registry chooses for heads of {} in float32 on {} (capability {}):\n",
               model_.config().head_dim, request.target,
               to_string(gpu_ ? *gpu_ : capability_of_target(request.target)));
    for (const std::string& line : chosen.log) fmt::print("   {}\n", line);
    return chosen;
  }

  // The first run also shows the batches, and keeps a step that mixes prefill and decode.
  void print_text() {
    fmt::print("\n2. A small Llama answers {} prompts in one continuous batch\n\n", kNumPrompts);
    const ChosenBackend chosen = choose_and_print();
    options_ = engine_from(flags_, model_.config(), chosen, "", prompts(), kMaxTokens).options;
    fmt::print(
        "   pool: {} blocks of {} tokens (block 0 is the null block); at most {} tokens a step\n",
        options_.num_blocks, options_.block_size, options_.max_num_batched_tokens);
    const RecordingBackend recorder(*chosen.backend, [](const CommonAttentionMetadata& metadata) {
      std::int64_t num_decodes = 0;
      for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
        if (metadata.query_len(req_idx) == 1) ++num_decodes;
      }
      return num_decodes > 0 && num_decodes < metadata.num_reqs();
    });
    std::optional<StepRecord> last;
    int num_alike = 0;  // steps since the last line
    chosen_ = generate_on(recorder, [&](const StepRecord& record) {
      if (!last || is_another_batch(record, *last)) {
        if (num_alike > 0) fmt::print("   ... {} more like it\n", num_alike);
        fmt::print("   {}\n", to_string(record));
        num_alike = 0;
      } else {
        ++num_alike;
      }
      last = record;
    });
    recorded_ = recorder.recorded();
    for (const Generation& generation : chosen_.generations) {
      const std::string text =
          tokenizer_.decode(generation.prompt_ids) + "|" + tokenizer_.decode(generation.token_ids);
      fmt::print("\n{}\n", indented("   --- ", text));
    }
  }

  bool print_tokens() {
    fmt::print("\n3. The same tokens everywhere\n\n");
    fmt::print("   {:<16} {:<10} {:>22} {:>10}\n", "backend", "target", "tokens as in float64",
               "time");
    for (const BackendChoice& choice : all_backends()) {
      for (const std::string& target : choice.targets) {
        if (!target_is_available(target)) continue;
        const bool is_chosen = choice.name == chosen_.backend && target == chosen_.target;
        runs_.push_back(is_chosen ? chosen_ : generate_on(*choice.make(target)));
      }
    }
    bool all_agree = true;
    for (const DemoRun& run : runs_) all_agree = print_row(run) && all_agree;
    return print_replays() && all_agree;
  }

  // Whether a run has the golden tokens.
  bool print_row(const DemoRun& run) const {
    const std::int64_t equal = num_equal_tokens(run);
    fmt::print("   {:<16} {:<10} {:>15} of {:>3} {:>8.2f} s\n", run.backend, run.target, equal,
               kNumPrompts * kMaxTokens, run.seconds);
    return equal == kNumPrompts * kMaxTokens;
  }

  // The chosen backend once more, with the whole model where its kernels run: recorded at the start, and replayed.
  bool print_replays() const {
    bool all_agree = true;
    for (const BackendChoice& choice : all_backends()) {
      if (choice.name != chosen_.backend) continue;
      for (const std::string& target : choice.targets) {
        if (target_is_available(target))
          all_agree = print_replay(*choice.make(target)) && all_agree;
      }
    }
    return all_agree;
  }

  // A backend without kernels has nothing to replay.
  bool print_replay(const AttentionBackend& backend) const {
    if (dynamic_cast<const DeviceModelBackend*>(&backend) == nullptr) return true;
    std::vector<StepRecord> steps;
    const DemoRun run = generate_on(
        backend, [&](const StepRecord& step) { steps.push_back(step); },
        CUDAGraphMode::kFullAndPiecewise);
    const StepTotals totals = totals_of(steps);
    fmt::print("\n   the whole model recorded as CUDA graphs: {} replays, of {} launches\n",
               totals.num_replayed_graphs, totals.num_replayed_launches);
    return print_row(run);
  }

  bool print_step() const {
    fmt::print("\n4. One real step of layer 1, prefill and decode mixed, on every backend\n\n");
    if (!recorded_) {
      fmt::print("   there is none: with these options no step mixes prefill and decode\n");
      return true;
    }
    const std::vector<ComparedBackend> rows = compare_on_every_backend(*recorded_, {}, {});
    fmt::print("{}", indented("   ", to_table(rows)));
    fmt::print(
        "\n   bound: the largest share of the derived error bound that was used, against "
        "REFERENCE\n"
        "   bits:  output and LSE against REFERENCE_FLOAT, bit for bit\n");
    return !any_disagrees(rows);
  }

  void print_what_was_skipped() const {
    std::string reason;
    if (!target_is_available("cuda", &reason)) fmt::print("\nSkipped: cuda ({})\n", reason);
  }

  // A step that does what the one before did is not worth a line.
  static bool is_another_batch(const StepRecord& step, const StepRecord& last) {
    return step.num_decode_tokens != last.num_decode_tokens ||
           step.num_prefill_tokens != last.num_prefill_tokens ||
           step.num_waiting != last.num_waiting || !step.preempted.empty();
  }

  std::int64_t num_equal_tokens(const DemoRun& run) const {
    std::int64_t equal = 0;
    for (std::size_t request = 0; request < golden_.size(); ++request) {
      const std::vector<std::int32_t>& got = run.generations[request].token_ids;
      const std::vector<std::int32_t>& expected = golden_[request].token_ids;
      for (std::size_t index = 0; index < expected.size() && index < got.size(); ++index) {
        if (got[index] == expected[index]) ++equal;
      }
    }
    return equal;
  }

  // The first line begins with `start`, and every other one as far to the right.
  static std::string indented(const std::string& start, const std::string& lines) {
    std::string result = start;
    for (std::size_t index = 0; index < lines.size(); ++index) {
      result += lines[index];
      const bool is_last = index + 1 == lines.size();
      if (lines[index] == '\n' && !is_last) result.append(start.size(), ' ');
    }
    return result;
  }

  std::optional<DeviceCapability> gpu_;
  EngineFlags flags_;
  EngineOptions options_;  // what they come to
  std::filesystem::path folder_;
  Llama model_;
  CharacterTokenizer tokenizer_;
  std::vector<GoldenText> golden_;
  DemoRun chosen_;
  std::vector<DemoRun> runs_;
  std::optional<AttentionStep> recorded_;
};

}  // namespace

void add_demo_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("demo", "The main job in a minute, on every target");
  auto gpu = std::make_shared<std::string>();
  command
      ->add_option("--gpu", *gpu,
                   "choose the backend by the rules of this GPU: h100, b200, ... or 9.0")
      ->check(not_empty());
  // Not cascade, which takes eight requests, nor graphs, which would hide the step that every backend repeats: those are
  // generate's.
  auto flags = std::make_shared<EngineFlags>();
  flags->block_size = kBlockSize;
  flags->num_blocks = kNumBlocks;
  add_batching_options(*command, *flags);
  command->callback([gpu, flags, &exit_status] {
    std::optional<DeviceCapability> capability;
    if (!gpu->empty()) capability = capability_of_gpu(*gpu);
    if (!flags->max_num_batched_tokens && flags->enable_chunked_prefill) {
      flags->max_num_batched_tokens = kStepTokens;
    }
    exit_status = Demo(capability, *flags).run() ? 0 : 1;
  });
}

}  // namespace pagelab::cli
