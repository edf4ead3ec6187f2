#include "cli/simulate_options.h"

#include <cmath>

#include "cli/engine_options.h"
#include "cli/option_values.h"
#include "gpu/backends/register_backend.h"
#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/cudagraph_support.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/model_shapes.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/selection.h"
#include "reference/registry/selector.h"
#include "simulator/engine/in_range.h"

namespace pagelab::cli {
namespace {

constexpr const char* kServedModelName =
    "llama-3-8b";  // Llama 3.1 8B has the same attention layers
constexpr double kDefaultMemoryGib = 64;
constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
constexpr std::int64_t kDefaultSms = 132;  // of an H100 or H200
constexpr std::int64_t kMostPoolBlocks = 10'000'000;
constexpr double kLongestStepMs = 1e6;

std::int32_t narrow(const char* option,
                    std::int64_t value,
                    std::int64_t least,
                    std::int64_t most = kLargestSize) {
  require_in_range(option, value, least, most);
  return static_cast<std::int32_t>(value);
}

SelectionQuestion question_of(const SimulateOptions& options) {
  SelectionQuestion question = questions_of_layers(find_model_shape(kServedModelName)).front();
  question.capability = capability_of_gpu(options.gpu);
  question.config.dtype = "bfloat16";
  question.config.kv_cache_dtype = "auto";
  question.config.block_size = options.block_size;
  return question;
}

std::optional<std::string> backend_asked_for(const SimulateOptions& options,
                                             const BackendRegistry& registry) {
  if (options.backend == "auto") return std::nullopt;
  try {
    return parse_attention_config(options.backend, {}, registry).backend;
  } catch (const RaisedError& error) {
    const std::string sentence = error.what();
    refuse("--backend {}{}: {}.", options.backend, did_you_mean(options.backend, registry.names()),
           sentence);
  }
}

// The same question, for a reader who wants to know more.
std::string as_options_of_select(const SimulateOptions& options) {
  std::string text = fmt::format("--model {} --gpu {}", kServedModelName, options.gpu);
  if (options.block_size) text += fmt::format(" --block-size {}", *options.block_size);
  if (options.backend != "auto") text += " --attention-backend " + options.backend;
  return text;
}

Selection selection_of(const SimulateOptions& options,
                       const SelectionQuestion& question,
                       const BackendRegistry& registry) {
  Selection selection =
      select_attention_backend(question, backend_asked_for(options, registry), registry);
  if (selection.selected) return selection;
  // vLLM's own text is a page long: the record, and every reason of everybody.
  refuse("no backend serves this layer: `pagelab select {} --explain` has every reason.",
         as_options_of_select(options));
}

std::vector<UniformTypeKVCacheSpecs> layers_of(const ServedModel& model, std::int64_t block_size) {
  KVCacheSpec layer;
  layer.block_size = block_size;
  layer.num_kv_heads = model.num_kv_heads;
  layer.head_size = layer.head_size_v = model.head_size;
  return {{std::vector<KVCacheSpec>(static_cast<std::size_t>(model.num_layers), layer)}};
}

KVCacheCapacity capacity_of(const SimulateOptions& options,
                            const ServedModel& model,
                            std::int64_t block_size) {
  const std::vector<UniformTypeKVCacheSpecs> layers = layers_of(model, block_size);
  if (options.num_blocks && options.kv_memory_gib) {
    refuse("--num-blocks {} and --kv-memory {} both size the pool: give one of them.",
           *options.num_blocks, *options.kv_memory_gib);
  }
  if (options.num_blocks) {
    require_in_range("--num-blocks", *options.num_blocks, 2, kMostPoolBlocks);
    return {*options.num_blocks, block_size, bytes_per_block(layers), "as asked for"};
  }
  const double gib = options.kv_memory_gib.value_or(kDefaultMemoryGib);
  if (!(gib > 0 && gib <= kLargestSize)) {
    refuse("--kv-memory is {} GiB; it must be above 0, and at most {}.", gib, kLargestSize);
  }
  const KVCacheCapacity capacity =
      capacity_of_memory(static_cast<std::int64_t>(gib * kBytesPerGib), layers, block_size);
  require_in_range("the number of blocks in --kv-memory", capacity.num_blocks, 2, kMostPoolBlocks);
  return capacity;
}

ResolvedCudagraphMode graphs_of(const SimulateOptions& options,
                                const SelectionQuestion& question,
                                const BackendFacts& facts) {
  CudagraphModeRequest request;
  request.min_support =
      min_cudagraph_support({{cudagraph_support(facts, question), std::string(facts.class_name)}});
  request.model_runner_v2 = !options.cascade;
  request.max_num_seqs = options.max_num_seqs;
  CaptureSizeSettings sizes;
  sizes.max_num_seqs = options.max_num_seqs;
  sizes.max_num_batched_tokens = options.max_num_batched_tokens;
  sizes.data_centre_blackwell = question.capability.major == 10;
  request.capture_sizes = capture_sizes(sizes);
  return resolved_graphs(options.cudagraph_mode, request);
}

std::optional<CascadeSetting> cascade_of(const SimulateOptions& options,
                                         const ServedModel& model,
                                         const std::string& backend) {
  if (!options.cascade) {
    if (options.num_sms) refuse("--num-sms {} has no effect without --cascade.", *options.num_sms);
    return std::nullopt;
  }
  if (!options.enable_prefix_caching) {
    refuse("--cascade has no effect with --no-enable-prefix-caching: no block is shared then.");
  }
  // Only FlashAttention's rule ever says yes.
  if (backend != "FLASH_ATTN") {
    refuse("--cascade: {} never uses cascade attention; FLASH_ATTN does (--backend FLASH_ATTN).",
           backend);
  }
  CascadeSetting setting;
  setting.num_query_heads = model.num_query_heads;
  setting.num_kv_heads = model.num_kv_heads;
  setting.num_sms = options.num_sms.value_or(kDefaultSms);
  require_in_range("--num-sms", setting.num_sms, 1);
  return setting;
}

}  // namespace

void add_simulate_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("trace", options.trace, "requests: Mooncake's JSON lines, or Azure's CSV")
      ->required();
  command
      .add_option("--num-blocks,--num-gpu-blocks-override", options.num_blocks,
                  "blocks of the pool, the engine's null block included")
      ->check(whole_number());
  command.add_option("--kv-memory", options.kv_memory_gib,
                     "GiB of the pool, instead of --num-blocks (default: 64)");
  command
      .add_option("--block-size", options.block_size,
                  "tokens of a block (default: what the backend prefers)")
      ->check(whole_number());
  command
      .add_option("--max-num-batched-tokens", options.max_num_batched_tokens,
                  "most tokens of a step")
      ->capture_default_str()
      ->check(whole_number());
  command.add_option("--max-num-seqs", options.max_num_seqs, "most requests that run at once")
      ->capture_default_str()
      ->check(whole_number());
  command.add_option("--max-model-len", options.max_model_len, "most tokens of a request")
      ->capture_default_str()
      ->check(whole_number());
  // Once, or the one would contradict the other.
  const auto once = CLI::MultiOptionPolicy::Throw;
  command
      .add_flag("--enable-prefix-caching,!--no-enable-prefix-caching",
                options.enable_prefix_caching, "share blocks of equal beginnings (default: yes)")
      ->multi_option_policy(once);
  command
      .add_flag("--enable-chunked-prefill,!--no-enable-chunked-prefill",
                options.enable_chunked_prefill,
                "cut a prompt that does not fit a step (default: yes)")
      ->multi_option_policy(once);
  command.add_flag("--no-async-scheduling", options.no_async_scheduling,
                   "schedule a step only when the one before is computed");
  command
      .add_option("--gpu", options.gpu, "whose rules choose the backend: h200, b200, ... or 9.0")
      ->capture_default_str()
      ->check(not_empty());
  command.add_option("--backend", options.backend, "of attention; auto: the one vLLM would choose")
      ->capture_default_str()
      ->check(not_empty());
  command
      .add_option("--cudagraph-mode", options.cudagraph_mode, "asked for; the backend may lower it")
      ->capture_default_str()
      ->check(not_empty());
  command
      .add_flag("--cascade,!--disable-cascade-attn", options.cascade,
                "the first model runner with cascade attention, as until vLLM 0.31.0 (default: no)")
      ->multi_option_policy(once);
  command
      .add_option("--num-sms", options.num_sms,
                  "multiprocessors that cascade's rule counts with (default: 132)")
      ->check(whole_number());
  command.add_option("--cost", options.costs, "another figure of the timeline, NAME=VALUE")
      ->allow_extra_args(false);
  command.add_option("--step-ms", options.step_ms,
                     "each step takes so many milliseconds, whatever the timeline says");
  command.add_option("--copies", options.copies, "serve the trace so often, one after another")
      ->capture_default_str()
      ->check(whole_number());
  command.add_option("--perfetto", options.perfetto, "where to write a Chrome trace of all steps")
      ->check(not_empty());
  command.add_option("--html", options.html, "where to write a page to walk through, step by step")
      ->check(not_empty());
  command.add_option("--html-from", options.html_from, "the page's first step (default: 1)")
      ->check(whole_number());
  command.add_option("--html-steps", options.html_steps, "how many it has (default: 400)")
      ->check(whole_number());
  command.add_flag("--show-costs", options.show_costs, "print the timeline's figures and sources");
}

SimulatedEngine engine_of(const SimulateOptions& options) {
  const BackendRegistry registry = registry_in_use();
  SimulatedEngine engine;
  ServingSettings& settings = engine.settings;
  SchedulerConfig& scheduler = settings.scheduler;
  scheduler.max_num_seqs = narrow("--max-num-seqs", options.max_num_seqs, 1);
  scheduler.max_num_batched_tokens =
      narrow("--max-num-batched-tokens", options.max_num_batched_tokens, 1, kMostTokens / 2);
  scheduler.enable_chunked_prefill = options.enable_chunked_prefill;
  scheduler.async_scheduling = !options.no_async_scheduling;

  const SelectionQuestion question = question_of(options);
  const Selection selection = selection_of(options, question, registry);
  engine.backend = *selection.selected;
  const std::int64_t block_size = options.block_size.value_or(
      preferred_block_size(*selection.facts, question, settings.cache.block_size));
  engine.capacity = capacity_of(options, settings.model, block_size);
  settings.cache.block_size = narrow("--block-size", block_size, 1);
  settings.cache.num_blocks = static_cast<std::int32_t>(engine.capacity.num_blocks);
  settings.cache.max_model_len = narrow("--max-model-len", options.max_model_len, 1, kMostTokens);
  settings.cache.enable_caching = options.enable_prefix_caching;
  if (!options.enable_chunked_prefill && options.max_num_batched_tokens < options.max_model_len) {
    refuse(
        "--no-enable-chunked-prefill: a prompt of up to --max-model-len {} tokens would never fit "
        "a "
        "step of --max-num-batched-tokens {}; raise that, or lower the other.",
        options.max_model_len, options.max_num_batched_tokens);
  }

  engine.graphs = graphs_of(options, question, *selection.facts);
  settings.worker.mode = engine.graphs.mode;
  settings.worker.capture_sizes = engine.graphs.capture_sizes.sizes;
  settings.worker.max_num_seqs = scheduler.max_num_seqs;
  settings.worker.cascade = cascade_of(options, settings.model, engine.backend);

  if (options.html.empty() && (options.html_from || options.html_steps)) {
    refuse("--html-from and --html-steps have no effect without --html FILE.");
  }
  for (const std::string& cost : options.costs) set_cost(settings.costs, cost);
  if (options.step_ms) {
    if (!(*options.step_ms > 0 && *options.step_ms <= kLongestStepMs)) {
      refuse("--step-ms is {}; it must be above 0, and at most {}.", *options.step_ms,
             kLongestStepMs);
    }
    if (!options.costs.empty()) {
      refuse("--cost has no effect with --step-ms, which sets every step's time.");
    }
    settings.step_us = *options.step_ms * 1000;
  }
  return engine;
}

}  // namespace pagelab::cli
