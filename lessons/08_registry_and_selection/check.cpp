// Judges an answer to the exercise of lesson 08. The ten choices are vLLM's own, lines of
// tests/golden/registry/selection.jsonl; reasons are those of pagelab's validate_configuration, which
// agrees with every line there; what TINY_ATTN has to say is written out by hand.

#include <algorithm>

#include "lessons/08_registry_and_selection/answer.h"
#include "lessons/checker/checker.h"
#include "reference/registry/catalogue.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/priorities.h"
#include "reference/registry/python_text.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/selection.h"
#include "reference/registry/validate_configuration.h"

namespace pagelab::lesson_08 {
namespace {

using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

const BackendRegistry kRegistry = BackendRegistry::of_attention();

/// A line of selection.jsonl that asks what a layer of ten_layers() asks.
struct GoldenLine {
  const char* id;
  const char* selected;
};

const std::vector<GoldenLine> kGoldenLines = {
    {"s0283", "FLASH_ATTN"},     {"s0349", "FLASHINFER"},  {"s0380", "FLASH_ATTN"},
    {"s0335", "FLASH_ATTN"},     {"s0222", "FLASHINFER"},  {"s0286", "FLASH_ATTN"},
    {"s0111", "TRITON_ATTN"},    {"s0282", "TRITON_ATTN"}, {"s0237", kNobody},
    {"s0000", "FLEX_ATTENTION"},
};

std::string describe(const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  std::string text = "head_size " + show(config.head_size) + ", dtype " + config.dtype +
                     ", kv_cache_dtype " + config.kv_cache_dtype.value_or("None") +
                     ", block_size " + (config.block_size ? show(*config.block_size) : "open");
  const auto add = [&text](bool asked, const char* name) {
    if (asked) text += std::string(", ") + name;
  };
  add(config.use_mla, "use_mla");
  add(config.has_sink, "has_sink");
  add(config.use_sparse, "use_sparse");
  add(config.has_sliding_window, "has_sliding_window");
  add(config.use_non_causal, "use_non_causal");
  return text + ", on a GPU of " + show(question.capability.major) + "." +
         show(question.capability.minor);
}

std::string describe(const Settings& settings) {
  return "kv_cache_dtype " + settings.kv_cache_dtype + ", block_size " +
         (settings.block_size ? show(*settings.block_size) : "open") + ", attention_backend " +
         settings.attention_backend.value_or("automatic");
}

/// Who was chosen, or the error.
std::string outcome(const Selection& selection) {
  return selection.selected ? *selection.selected + " is chosen" : selection.error->message;
}

void judge_prediction(TaskCheck& task, const NamedLayer& layer, const std::string& answer) {
  const Selection selection = select_attention_backend(layer.asked, {}, kRegistry);
  const std::vector<std::string>& candidates = selection.candidates;
  const bool is_candidate = std::ranges::find(candidates, answer) != candidates.end();
  task.expect(is_candidate || answer == kNobody,
              std::string("kNobody, or one of ") + comma_separated(candidates), answer);
  for (const DeclinedBackend& declined : selection.invalid) {
    task.expect(declined.name != answer, "somebody who accepts, or kNobody",
                answer + ", who declines: " + comma_separated(declined.reasons));
  }
  task.expect(answer != kNobody || selection.valid.empty(), "somebody: not all decline", answer);
  task.expect(answer == selection.selected.value_or(kNobody), "the first in the order that accepts",
              answer + ", who accepts; but so does one before, and the order here is " +
                  comma_separated(candidates));
}

void check_predict_choices(TaskCheck& task) {
  const std::vector<std::string> answers = kAnswer.predict_choices();
  const std::vector<NamedLayer> layers = ten_layers();
  task.input(1, "ten_layers()", "A name for each, or kNobody.");
  task.expect_equal("as many answers:", static_cast<std::int64_t>(answers.size()),
                    static_cast<std::int64_t>(layers.size()));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string golden = kGoldenLines[i].selected;
    const Selection selection = select_attention_backend(layers[i].asked, {}, kRegistry);
    if (selection.selected.value_or(kNobody) != golden) {
      throw std::logic_error(std::string("the check is wrong: golden line ") + kGoldenLines[i].id +
                             " says " + golden + ".");
    }
    task.input(1, "layer " + show(static_cast<int>(i) + 1) + ": " + layers[i].text,
               "Take the order of this GPU, and ask one after the other: would the README's table "
               "let it accept? Sinks and fp8 depend on the GPU.");
    judge_prediction(task, layers[i], answers[i]);
  }
}

/// A row, a question, and the reasons.
struct Asked {
  const BackendFacts* facts;
  SelectionQuestion question;
  std::vector<std::string> reasons;
};

/// Layers that ask for one thing each, for several at once, and for nothing.
std::vector<SelectionQuestion> various_questions() {
  std::vector<SelectionQuestion> questions;
  for (const DeviceCapability gpu : {DeviceCapability{9, 0}, {7, 5}, {8, 0}, {10, 0}, {12, 0}}) {
    const auto add = [&questions, gpu]() -> AttentionSelectorConfig& {
      questions.push_back(plain_layer(gpu));
      questions.back().num_heads = 32;
      return questions.back().config;
    };
    add();
    add().head_size = 100;
    add().dtype = "float32";
    add().kv_cache_dtype = "fp8";
    add().kv_cache_dtype = "nvfp4";
    add().block_size = 24;
    add().has_sink = true;
    add().use_sparse = true;
    add().has_sliding_window = true;
    add().use_non_causal = true;
    AttentionSelectorConfig& latent = add();
    latent.use_mla = true;
    latent.head_size = 576;
    AttentionSelectorConfig& sparse_latent = add();
    sparse_latent = questions[questions.size() - 2].config;
    sparse_latent.use_sparse = true;
    AttentionSelectorConfig& all_at_once = add();
    all_at_once.head_size = 100;
    all_at_once.dtype = "float64";
    all_at_once.kv_cache_dtype = "fp8_inc";
    all_at_once.block_size = 24;
    all_at_once.use_mla = true;
    all_at_once.has_sink = true;
    all_at_once.use_sparse = true;
    all_at_once.has_sliding_window = true;
    all_at_once.use_non_causal = true;
  }
  return questions;
}

/// Whether the lesson's list has all that a row may say to these questions.
bool is_covered(const BackendFacts& facts, const SelectionQuestion& question) {
  return !facts.class_name.empty() && facts.reason_after_all == nullptr &&
         supports_attn_type(facts, question);
}

/// Those with the fewest reasons first.
std::vector<Asked> asked_rows() {
  std::vector<Asked> all;
  for (const SelectionQuestion& question : various_questions()) {
    for (const BackendFacts* facts : attention_backends()) {
      if (!is_covered(*facts, question)) continue;
      all.push_back({facts, question, pagelab::validate_configuration(*facts, question)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Asked& a, const Asked& b) {
    return a.reasons.size() < b.reasons.size();
  });
  return all;
}

/// What to think of, seeing how an answer differs.
std::string hint_for(const std::vector<std::string>& got, const std::vector<std::string>& right) {
  if (right.empty()) {
    return "A layer is not declined for the lack of a feature that it does not ask for.";
  }
  if (std::is_permutation(got.begin(), got.end(), right.begin(), right.end())) {
    return "The reasons are right; their order is not the README's.";
  }
  if (got.size() == 1 && right.size() > 1 && got.front() == right.front()) {
    return "Nothing stops early: every check is made, whatever came before it.";
  }
  const auto is_missing = [&](const std::string& reason) {
    return std::ranges::count(right, reason) > std::ranges::count(got, reason);
  };
  if (is_missing("non-MLA not supported") || is_missing("non-sparse not supported")) {
    return "MLA and sparse have to match both ways: who serves such layers serves no others.";
  }
  return "Compare with the README's list, line by line; the row's own rule comes last.";
}

void check_validate_configuration(TaskCheck& task) {
  for (const Asked& asked : asked_rows()) {
    const std::string input =
        std::string(asked.facts->name) + " for a layer with " + describe(asked.question);
    const auto size = static_cast<std::int64_t>(asked.reasons.size());
    task.input(size, input, "");
    const std::vector<std::string> got =
        kAnswer.validate_configuration(*asked.facts, asked.question);
    task.input(size, input, hint_for(got, asked.reasons));
    task.expect(got == asked.reasons, "reasons " + python_list(asked.reasons),
                "reasons " + python_list(got));
  }
}

/// What follows from settings.
Selection select_under(const Report& report, const Settings& settings) {
  return select_attention_backend(under(report.layer, settings), settings.attention_backend,
                                  kRegistry);
}

bool gets_wanted(const Report& report, const Settings& settings) {
  return select_under(report, settings).selected == report.wanted;
}

/// Tries all settings that there are.
bool has_repair(const Report& report) {
  for (const std::string_view kv_cache_dtype : kv_cache_dtype_names()) {
    for (const std::int64_t block_size : {0, 8, 16, 32, 64, 128, 256}) {
      Settings settings = {.kv_cache_dtype = std::string(kv_cache_dtype)};
      if (block_size > 0) settings.block_size = block_size;
      if (gets_wanted(report, settings)) return true;
      settings.attention_backend = report.wanted;
      if (gets_wanted(report, settings)) return true;
    }
  }
  return false;
}

/// Fails if the same would come without one of the changes.
void expect_no_needless_change(TaskCheck& task, const Report& report, const Settings& settings) {
  const Settings& given = report.settings;
  Settings without = settings;
  without.kv_cache_dtype = given.kv_cache_dtype;
  const auto expect_needed = [&](const char* option) {
    task.expect(without == settings || !gets_wanted(report, without),
                "settings in which every change is needed",
                describe(settings) + "; " + report.wanted + " comes without a change of " + option);
    without = settings;
  };
  expect_needed("kv_cache_dtype");
  without.block_size = given.block_size;
  expect_needed("block_size");
  without.attention_backend = given.attention_backend;
  expect_needed("attention_backend");
}

void check_repair(TaskCheck& task) {
  for (const Report& report : four_reports()) {
    const std::string input = "report " + show(report.number) + ": " + report.text;
    task.input(1, input,
               "Read every reason of " + report.wanted +
                   " in `./pagelab select ... --explain`, and what each "
                   "would go away with. A backend that is forced is asked as the others are; one "
                   "that accepts may "
                   "stand behind another.");
    const std::optional<Settings> settings = kAnswer.repair(report);
    if (!settings.has_value()) {
      task.expect(!has_repair(report), "settings: there are some", "none");
      continue;
    }
    const Selection selection = select_under(report, *settings);
    task.expect(selection.selected == report.wanted,
                has_repair(report) ? report.wanted + " is chosen" : "none: no settings do it",
                describe(*settings) + ": " + outcome(selection));
    expect_no_needless_change(task, report, *settings);
  }
}

/// A question to TINY_ATTN, and what it has to say; worked out from the README's description.
struct TinyCase {
  std::string differs;
  SelectionQuestion question;
  std::vector<std::string> reasons;
};

std::vector<TinyCase> tiny_cases() {
  std::vector<TinyCase> cases;
  const auto add = [&cases](const char* differs, std::vector<std::string> reasons,
                            DeviceCapability gpu = {8, 0}) -> AttentionSelectorConfig& {
    cases.push_back({differs, plain_layer(gpu), std::move(reasons)});
    cases.back().question.config.head_size = 64;
    return cases.back().question.config;
  };
  add("A100 (8.0), heads of 64 elements", {});
  add("H100 (9.0), heads of 64 elements", {}, {9, 0});
  add("heads of 32 elements", {}).head_size = 32;
  add("float16", {}).dtype = "float16";
  add("float32", {}).dtype = "float32";
  add("a cache of bfloat16", {}).kv_cache_dtype = "bfloat16";
  add("--block-size 64", {}).block_size = 64;
  add("a sliding window", {}).has_sliding_window = true;
  add("heads of 128 elements", {"head_size not supported"}).head_size = 128;
  add("float64", {"dtype not supported"}).dtype = "float64";
  add("a cache of float16", {"kv_cache_dtype not supported"}).kv_cache_dtype = "float16";
  add("a cache of fp8", {"kv_cache_dtype not supported"}).kv_cache_dtype = "fp8";
  add("--block-size 16", {"block_size not supported"}).block_size = 16;
  add("attention sinks", {"attention sinks not supported"}).has_sink = true;
  add("no causal mask", {"non-causal attention not supported"}).use_non_causal = true;
  add("a KV connector", {"KV connector not supported"}).use_kv_connector = true;
  add("T4 (7.5)", {"compute capability not supported"}, {7, 5});
  add("B200 (10.0)", {"compute capability not supported"}, {10, 0});
  add("RTX 5090 (12.0), --block-size 16",
      {"block_size not supported", "compute capability not supported"}, {12, 0})
      .block_size = 16;
  return cases;
}

void check_register_tiny_attn(TaskCheck& task) {
  BackendRegistry registry = BackendRegistry::of_attention();
  task.input(0, "a fresh registry",
             "A new name becomes a new member; a known one would be replaced.");
  kAnswer.register_tiny_attn(registry);
  std::vector<std::string> members = kRegistry.names();
  for (const std::string& member : members) {
    task.expect(!registry.is_overridden(member), "the other members as they were",
                member + " has been replaced");
  }
  members.push_back("TINY_ATTN");
  task.expect(registry.names() == members, "one member more, TINY_ATTN",
              show(static_cast<std::int64_t>(registry.names().size())) +
                  " members, the last of them " + registry.names().back());
  for (const TinyCase& tiny : tiny_cases()) {
    task.input(static_cast<std::int64_t>(tiny.reasons.size()),
               "--attention-backend TINY_ATTN, " + tiny.differs,
               "What a row leaves out has the default of BackendFacts: no feature, but float16 and "
               "bfloat16, "
               "every head size, block size and GPU.");
    const Selection selection = select_attention_backend(tiny.question, "TINY_ATTN", registry);
    std::string got = "it accepts";
    if (!selection.selected) {
      const auto& invalid = selection.invalid;
      got = invalid.empty() ? selection.error->message : python_list(invalid.front().reasons);
    }
    const std::string expected = tiny.reasons.empty() ? "it accepts" : python_list(tiny.reasons);
    task.expect(got == expected, expected, got);
  }
}

}  // namespace
}  // namespace pagelab::lesson_08

int main(int argc, char** argv) {
  using namespace pagelab::lesson_08;
  pagelab::lessons::Checker checker("08", "registry and selection", kAnswer.path);
  checker.add_task("predict_choices", check_predict_choices);
  checker.add_task("validate_configuration", check_validate_configuration);
  checker.add_task("repair", check_repair);
  checker.add_task("register_tiny_attn", check_register_tiny_attn);
  return checker.run(argc, argv);
}
