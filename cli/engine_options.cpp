#include "cli/engine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "cli/option_values.h"
#include "gpu/backends/register_backend.h"
#include "reference/contract/refuse.h"
#include "reference/registry/cudagraph_support.h"
#include "reference/registry/gpu_names.h"
#include "simulator/engine/step/cascade_decision.h"

namespace pagelab::cli {
namespace {

constexpr std::int64_t kUsualBatchedTokens = 64;  // a small model's prompts are short

// What a graph of this backend may hold: as the real one's class says. Our own references have no such class, and
// nothing of what they do depends on more than a step's arrays.
MinCGSupport graph_support_of(const AttentionBackend& backend,
                              const LlamaConfig& config,
                              const std::string& gpu) {
  if (!is_known_to_vllm(backend.name())) return {};
  SelectionQuestion question = question_of_model(config, std::nullopt);
  question.capability =
      gpu.empty() ? capability_of_target(backend.target()) : capability_of_gpu(gpu);
  const BackendRegistry registry = registry_in_use();
  const BackendFacts& facts = registry.load(backend.name(), question.environment);
  return min_cudagraph_support(
      {{cudagraph_support(facts, question), std::string(facts.class_name)}});
}

std::int64_t most_batched_tokens(const EngineFlags& flags, const LlamaConfig& config) {
  if (flags.max_num_batched_tokens) return *flags.max_num_batched_tokens;
  // Without chunks a step must hold the longest prompt.
  if (!flags.enable_chunked_prefill) {
    return std::max(kUsualBatchedTokens, config.max_position_embeddings);
  }
  return kUsualBatchedTokens;
}

void set_cascade(const EngineFlags& flags,
                 const AttentionBackend& backend,
                 EngineOptions& options) {
  if (flags.num_sms && !flags.cascade) {
    refuse("--num-sms {} has no effect without --cascade.", *flags.num_sms);
  }
  if (flags.cascade && !flags.enable_prefix_caching) {
    refuse("--cascade has no effect with --no-enable-prefix-caching: no block is shared then.");
  }
  if (flags.cascade && !backend.has_cascade()) {
    refuse(
        "--cascade: {} has no cascade attention; REFERENCE, REFERENCE_FLOAT, FLASH_ATTN and "
        "FLASHINFER have.",
        backend.name());
  }
  options.cascade = flags.cascade;
  options.num_sms = flags.num_sms.value_or(options.num_sms);
}

// Tokens with which all texts of a step begin, as far as all of them were computed before it, in whole blocks: what they
// share in blocks is not longer.
std::int64_t num_shared_tokens(const StepRecord& step,
                               const std::vector<std::vector<std::int32_t>>& texts,
                               std::int64_t block_size) {
  const auto text_of = [&texts](const GeneratedPart& part) {
    return std::span(texts[static_cast<std::size_t>(part.req_idx)])
        .first(static_cast<std::size_t>(part.num_computed_tokens));
  };
  const auto first = text_of(step.scheduled.front());
  auto end = first.end();
  for (const GeneratedPart& part : step.scheduled) {
    const auto text = text_of(part);
    end = std::mismatch(first.begin(), end, text.begin(), text.end()).first;
  }
  const std::int64_t num_tokens = end - first.begin();
  return num_tokens - num_tokens % block_size;
}

}  // namespace

ResolvedCudagraphMode resolved_graphs(const std::string& mode, CudagraphModeRequest request) {
  request.mode = cudagraph_mode_of(mode);
  ResolvedCudagraphMode resolved = resolve_cudagraph_mode(request);
  if (resolved.error) {
    refuse("--cudagraph-mode {}: {}; or name another backend, as --backend FLASH_ATTN.", mode,
           *resolved.error);
  }
  return resolved;
}

void add_batching_options(CLI::App& command, EngineFlags& flags) {
  command
      .add_option("--block-size", flags.block_size,
                  "tokens a block of the cache (default: what the backend prefers, 16 as a rule)")
      ->check(whole_number());
  command
      .add_option(
          "--num-blocks,--num-gpu-blocks-override", flags.num_blocks,
          "blocks of the pool, the null block included, so 2 is the least; with too few "
          "of them requests wait or are preempted (default: enough for all prompts at once)")
      ->check(whole_number());
  command
      .add_option("--max-num-batched-tokens", flags.max_num_batched_tokens,
                  "most tokens that one step computes (default: 64, or the model's positions where "
                  "prompts are not cut)")
      ->check(whole_number());
  command.add_option("--max-num-seqs", flags.max_num_seqs, "most requests that run at once")
      ->capture_default_str()
      ->check(whole_number());
  // Once, or the one would contradict the other.
  const auto once = CLI::MultiOptionPolicy::Throw;
  command
      .add_flag("--enable-prefix-caching,!--no-enable-prefix-caching", flags.enable_prefix_caching,
                "keep full blocks for requests that begin alike (default: on)")
      ->multi_option_policy(once);
  command
      .add_flag("--enable-chunked-prefill,!--no-enable-chunked-prefill",
                flags.enable_chunked_prefill, "cut a prompt that does not fit a step (default: on)")
      ->multi_option_policy(once);
  command
      .add_option("--block-order-seed", flags.block_order_seed,
                  "shuffle the pool's blocks; the text does not change")
      ->check(whole_number());
}

void add_engine_options(CLI::App& command, EngineFlags& flags) {
  add_batching_options(command, flags);
  command
      .add_flag("--cascade,!--disable-cascade-attn", flags.cascade,
                "the first model runner with cascade attention, as until vLLM 0.31.0: what all "
                "requests of a step begin with is read once (default: off)")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  command
      .add_option("--num-sms", flags.num_sms,
                  "multiprocessors that cascade's rule counts with (default: 132)")
      ->check(whole_number());
  command
      .add_option(
          "--cudagraph-mode", flags.cudagraph_mode,
          "record the model's steps at the start and replay them: NONE, PIECEWISE, FULL, "
          "FULL_DECODE_ONLY or FULL_AND_PIECEWISE; the backend may lower it. On the CPU there are "
          "no launches to record: steps are padded to the graphs' sizes, and computed")
      ->capture_default_str()
      ->check(not_empty());
}

DescribedEngine engine_from(const EngineFlags& flags,
                            const LlamaConfig& config,
                            const ChosenBackend& chosen,
                            const std::string& gpu,
                            const std::vector<std::vector<std::int32_t>>& prompts,
                            std::int64_t max_tokens) {
  DescribedEngine engine;
  EngineOptions& options = engine.options;
  options.block_size = flags.block_size.value_or(chosen.open_block_size);
  const std::int64_t enough_for_all =
      num_blocks_for_all(config, prompts, max_tokens, options.block_size);
  options.num_blocks = flags.num_blocks.value_or(enough_for_all);
  options.max_num_batched_tokens = most_batched_tokens(flags, config);
  options.max_num_seqs = flags.max_num_seqs;
  options.enable_prefix_caching = flags.enable_prefix_caching;
  options.enable_chunked_prefill = flags.enable_chunked_prefill;
  set_cascade(flags, *chosen.backend, options);
  // Read as signed, because CLI11 would turn -1 into a large seed without a word.
  const std::int64_t seed = flags.block_order_seed.value_or(0);
  if (seed < 0) refuse("--block-order-seed is {}; it must be 0 or more.", seed);
  if (flags.block_order_seed) options.block_order_seed = static_cast<std::uint64_t>(seed);

  CudagraphModeRequest request;
  request.min_support = graph_support_of(*chosen.backend, config, gpu);
  request.model_runner_v2 = !options.cascade;
  request.max_num_seqs = options.max_num_seqs;
  request.capture_sizes = capture_sizes_of(options);
  const ResolvedCudagraphMode graphs = resolved_graphs(flags.cudagraph_mode, request);
  options.cudagraph_mode = graphs.mode;
  for (const CudagraphDowngrade& downgrade : graphs.downgrades) {
    engine.log.push_back("WARNING " + downgrade.warning);
    engine.log.push_back("it would take " + downgrade.remedy);
  }
  return engine;
}

std::string to_string(const StepTotals& totals, const EngineOptions& options) {
  std::string text;
  if (options.enable_prefix_caching) {
    text +=
        fmt::format("prefix caching: {} tokens found instead of computed\n", totals.num_hit_tokens);
  }
  text += fmt::format("preemptions: {}\n", totals.num_preemptions);
  if (options.cudagraph_mode != CUDAGraphMode::kNone) {
    const auto& [eager, piecewise, full] = totals.num_steps_of_mode;
    text += fmt::format(
        "CUDA graphs, {}: {} steps FULL, {} PIECEWISE, {} NONE; {} tokens of padding\n",
        to_string(options.cudagraph_mode), full, piecewise, eager, totals.num_padding_tokens);
  }
  if (options.cascade) {
    text += fmt::format("cascade attention: {} of {} steps", totals.num_cascade_steps,
                        totals.num_steps);
    if (totals.num_cascade_steps > 0) {
      text += fmt::format(", over {} tokens at most", totals.longest_prefix);
    }
    text += '\n';
  }
  return text;
}

std::string replays_of(const StepTotals& totals,
                       const EngineOptions& options,
                       const std::optional<RecordedGraphs>& recorded,
                       const AttentionBackend& backend) {
  if (options.cudagraph_mode == CUDAGraphMode::kNone) return "";
  if (!recorded) {
    return fmt::format(
        "nothing was recorded, because {} on {} has no launches to record: steps were padded to "
        "their graphs' sizes, and computed\n",
        backend.name(), backend.target());
  }
  return fmt::format(
      "recorded at the start: {} kinds of step, as {} graphs of {} launches; replayed: {} graphs "
      "of {} launches\n",
      recorded->num_steps, recorded->num_graphs, recorded->num_launches, totals.num_replayed_graphs,
      totals.num_replayed_launches);
}

std::string why_no_cascade(const std::vector<StepRecord>& steps,
                           const std::vector<Generation>& generations,
                           const EngineOptions& options,
                           const LlamaConfig& config) {
  std::vector<std::vector<std::int32_t>> texts;
  for (const Generation& generation : generations) {
    texts.push_back(generation.prompt_ids);
    texts.back().insert(texts.back().end(), generation.token_ids.begin(),
                        generation.token_ids.end());
  }
  // The step in which a cascade would have saved most: every request but one would not have read what they share.
  std::int64_t most_saved = -1;
  std::int64_t num_shared = 0;
  std::vector<std::int64_t> query_lens;
  for (const StepRecord& step : steps) {
    const std::int64_t shared = num_shared_tokens(step, texts, options.block_size);
    const std::int64_t saved = shared * (static_cast<std::int64_t>(step.scheduled.size()) - 1);
    if (saved <= most_saved) continue;
    most_saved = saved;
    num_shared = shared;
    query_lens.clear();
    for (const GeneratedPart& part : step.scheduled) query_lens.push_back(part.num_tokens);
  }
  CascadeSetting setting;
  setting.num_query_heads = config.num_attention_heads;
  setting.num_kv_heads = config.num_key_value_heads;
  setting.num_sms = options.num_sms;
  const CascadeDecision decision = flash_attn_cascade_decision(num_shared, query_lens, setting);
  return "where most could be saved, by the texts' equal beginnings, " +
         (decision.use ? "the equal tokens lie in different blocks." : decision.reason);
}

}  // namespace pagelab::cli
