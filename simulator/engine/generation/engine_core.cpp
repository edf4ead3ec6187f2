#include "simulator/engine/generation/engine_core.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

std::int32_t narrow(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  require_in_range(name, value, least, most);
  return static_cast<std::int32_t>(value);
}

SchedulerConfig scheduler_config(const EngineOptions& options) {
  SchedulerConfig config;
  config.max_num_seqs = narrow("max_num_seqs", options.max_num_seqs, 1, kLargestSize);
  config.max_num_batched_tokens =
      narrow("max_num_batched_tokens", options.max_num_batched_tokens, 1, kMostTokens / 2);
  config.enable_chunked_prefill = options.enable_chunked_prefill;
  return config;
}

// Refuses a cache that this machine cannot hold. In double: a product of huge options must not wrap around.
void check_memory(const LlamaConfig& config, const EngineOptions& options) {
  const double elements_per_token = 2.0 * static_cast<double>(config.num_hidden_layers) *
                                    static_cast<double>(config.num_key_value_heads) *
                                    static_cast<double>(config.head_dim);
  const double num_tokens =
      static_cast<double>(options.num_blocks) * static_cast<double>(options.block_size);
  const double cache_bytes = num_tokens * elements_per_token * bytes_of(options.kv_cache_dtype);
  const double memory_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (cache_bytes <= memory_bytes) return;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  refuse(
      "num_blocks {} of block_size {} make a cache of {:.1f} GiB, but this machine has {:.1f} GiB "
      "of memory.",
      options.num_blocks, options.block_size, cache_bytes / kGiB, memory_bytes / kGiB);
}

// Checked before anything is allocated: the pool's books alone take 20 bytes a block.
KVCacheConfig cache_config(const LlamaConfig& config, const EngineOptions& options) {
  KVCacheConfig cache;
  cache.block_size = narrow("block_size", options.block_size, 1, kLargestSize);
  if (options.num_blocks < 2 || options.num_blocks > std::numeric_limits<std::int32_t>::max()) {
    refuse("num_blocks is {}; it must be from 2 (the null block and one for tokens) to {}.",
           options.num_blocks, std::numeric_limits<std::int32_t>::max());
  }
  check_memory(config, options);
  cache.num_blocks = static_cast<std::int32_t>(options.num_blocks);
  cache.max_model_len = static_cast<std::int32_t>(config.max_position_embeddings);
  cache.enable_caching = options.enable_prefix_caching;
  return cache;
}

KvCacheSpec cache_spec(const Llama& model, const EngineOptions& options) {
  KvCacheSpec spec = model.kv_cache_spec(options.num_blocks, options.block_size);
  spec.dtype = options.kv_cache_dtype;
  spec.layout = options.kv_layout;
  return spec;
}

GraphWorkerSettings worker_settings(const LlamaConfig& config, const EngineOptions& options) {
  GraphWorkerSettings settings;
  settings.mode = options.cudagraph_mode;
  settings.capture_sizes = capture_sizes_of(options).sizes;
  settings.max_num_seqs = options.max_num_seqs;
  if (options.cascade) {
    require_in_range("num_sms", options.num_sms, 1);
    settings.cascade = CascadeSetting{.num_query_heads = config.num_attention_heads,
                                      .num_kv_heads = config.num_key_value_heads,
                                      .num_sms = options.num_sms};
  }
  return settings;
}

}  // namespace

CaptureSizes capture_sizes_of(const EngineOptions& options) {
  CaptureSizeSettings settings;
  settings.max_num_seqs = options.max_num_seqs;
  settings.max_num_batched_tokens = options.max_num_batched_tokens;
  return capture_sizes(settings);
}

EngineCore::EngineCore(const Llama& model,
                       const AttentionBackend& backend,
                       const EngineOptions& options)
    : model_(model),
      scheduler_(scheduler_config(options), cache_config(model.config(), options)),
      runner_(model,
              backend,
              cache_spec(model, options),
              worker_settings(model.config(), options),
              options.max_num_batched_tokens,
              options.block_order_seed) {}

std::int64_t EngineCore::add_request(std::vector<std::int32_t> prompt_ids,
                                     std::int64_t max_tokens) {
  const std::int64_t req_idx = static_cast<std::int64_t>(generations_.size());
  check_request(model_.config(), req_idx, prompt_ids, max_tokens);
  Request request(req_idx, prompt_ids, static_cast<std::int32_t>(max_tokens));
  request.stop_token_ids = model_.config().eos_token_ids;
  scheduler_.add_request(std::move(request));

  Generation& generation = generations_.emplace_back();
  generation.prompt_ids = std::move(prompt_ids);
  generation.max_tokens = max_tokens;
  ++num_unfinished_;
  return req_idx;
}

StepRecord EngineCore::step() {
  if (!has_unfinished()) refuse("there is no request left to compute a step for.");
  const SchedulerOutput scheduled = scheduler_.schedule();
  StepRecord record = record_of(scheduled);
  record.step_idx = num_steps_++;
  const BlockPool& pool = scheduler_.kv_cache_manager().pool();
  record.num_blocks_in_use = pool.num_blocks() - 1 - pool.num_free_blocks();
  record.num_waiting = scheduler_.num_waiting();

  const ModelRunnerOutput computed = runner_.execute_model(scheduled);
  record.cascade_prefix_len = computed.cascade_prefix_len;
  record.graph_mode = computed.graph_mode;
  record.replayed = computed.replayed;
  record.num_padding_tokens = computed.num_padding_tokens;

  take_next_tokens(scheduler_.update_from_output(scheduled, computed.sampled), computed.top2_gap,
                   record);
  return record;
}

// A request has one token at most in a step, and all are taken: so both lists have the same order.
void EngineCore::take_next_tokens(const EngineOutput& output,
                                  const std::vector<double>& top2_gap,
                                  StepRecord& record) {
  const std::vector<std::int32_t>& end_tokens = model_.config().eos_token_ids;
  for (const EngineOutput::Part& part : output.parts) {
    Generation& generation = generations_[part.id];
    const TokenId token = output.tokens[part.first];
    generation.token_ids.push_back(token);
    generation.min_top2_gap = std::min(generation.min_top2_gap, top2_gap[part.first]);
    if (!part.is_finished) continue;
    const bool is_end_token =
        std::find(end_tokens.begin(), end_tokens.end(), token) != end_tokens.end();
    generation.finish_reason = is_end_token ? FinishReason::kStop : FinishReason::kLength;
    record.finished.push_back(part.id);
    --num_unfinished_;
  }
}

std::vector<Generation> generate(const Llama& model,
                                 const AttentionBackend& backend,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 std::int64_t max_tokens,
                                 const EngineOptions& options,
                                 const std::function<void(const StepRecord&)>& on_step) {
  EngineCore engine(model, backend, options);
  for (const std::vector<std::int32_t>& prompt : prompts) engine.add_request(prompt, max_tokens);
  while (engine.has_unfinished()) {
    const StepRecord record = engine.step();
    if (on_step) on_step(record);
  }
  return engine.generations();
}

}  // namespace pagelab
