#include "reference/model/batch_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "reference/cache/slot_mapping.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

KvCacheSpec spec_from(const Llama& model, const BatchLoopOptions& options) {
  KvCacheSpec spec = model.kv_cache_spec(options.num_blocks, options.block_size);
  spec.dtype = options.kv_cache_dtype;
  spec.layout = options.kv_layout;
  return spec;
}

/// Refuses a cache that this machine cannot hold. In double: a product of huge options must not
/// wrap around.
void check_memory(const Llama& model, const BatchLoopOptions& options) {
  const LlamaConfig& config = model.config();
  const double elements_per_token = 2.0 * static_cast<double>(config.num_hidden_layers) *
                                    static_cast<double>(config.num_key_value_heads) *
                                    static_cast<double>(config.head_dim);
  const double num_tokens =
      static_cast<double>(options.num_blocks) * static_cast<double>(options.block_size);
  const double cache_bytes = num_tokens * elements_per_token * bytes_of(options.kv_cache_dtype);
  const double memory_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (cache_bytes > memory_bytes) {
    constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
    throw Error(fmt::format(
        "num_blocks {} of block_size {} make a cache of {:.1f} GiB, but this "
        "machine has {:.1f} GiB of memory.",
        options.num_blocks, options.block_size, cache_bytes / kGiB, memory_bytes / kGiB));
  }
}

void check_block_size(std::int64_t block_size) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  if (block_size < 1 || block_size > kLargest) {
    throw Error(fmt::format("block_size is {}; it must be from 1 to {}.", block_size, kLargest));
  }
}

BatchLoopOptions checked(const Llama& model, const BatchLoopOptions& options) {
  check_block_size(options.block_size);
  if (options.max_num_batched_tokens < 1) {
    throw Error(fmt::format("max_num_batched_tokens is {}; it must be 1 or more.",
                            options.max_num_batched_tokens));
  }
  check_memory(model, options);
  return options;
}

}  // namespace

std::string to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStop:
      return "stop";
    default:
      return "unfinished";
  }
}

std::string to_string(const StepRecord& record) {
  return fmt::format("step {}: {} decode + {} prefill tokens, {} blocks in use, {} waiting",
                     record.step_idx, record.num_decode_tokens, record.num_prefill_tokens,
                     record.num_blocks_in_use, record.num_waiting);
}

BatchLoop::BatchLoop(const Llama& model,
                     const AttentionBackend& backend,
                     const BatchLoopOptions& options)
    : model_(model),
      options_(checked(model, options)),
      cache_spec_(spec_from(model, options_)),
      free_blocks_(options_.num_blocks, options_.block_order_seed),
      layers_(model.make_attention_layers(backend, cache_spec_)) {}

std::int64_t BatchLoop::blocks_for(const Generation& generation) const {
  return blocks_for_request(static_cast<std::int64_t>(generation.prompt_ids.size()),
                            generation.max_tokens, options_.block_size);
}

std::int64_t BatchLoop::add_request(std::vector<std::int32_t> prompt_ids, std::int64_t max_tokens) {
  const std::int64_t req_idx = static_cast<std::int64_t>(generations_.size());
  const std::int64_t prompt_len = static_cast<std::int64_t>(prompt_ids.size());
  check_request(model_.config(), req_idx, prompt_ids, max_tokens);

  Generation generation;
  generation.prompt_ids = std::move(prompt_ids);
  generation.max_tokens = max_tokens;
  const std::int64_t needed = blocks_for(generation);
  if (needed > free_blocks_.num_usable()) {
    throw Error(
        fmt::format("request {} can never run: its {} prompt tokens and {} new ones need "
                    "{} blocks of {} tokens, and the pool has {} besides the null block. "
                    "num_blocks must be {} at least.",
                    req_idx, prompt_len, max_tokens, needed, options_.block_size,
                    free_blocks_.num_usable(), needed + 1));
  }
  generations_.push_back(std::move(generation));
  waiting_.push_back(req_idx);
  return req_idx;
}

void BatchLoop::admit_while_blocks_last() {
  while (!waiting_.empty()) {
    const std::int64_t req_idx = waiting_.front();
    const std::int64_t needed = blocks_for(generations_[req_idx]);
    if (needed > free_blocks_.num_free()) return;  // and nobody overtakes it
    running_.push_back(Running{req_idx, free_blocks_.take(needed), 0});
    waiting_.pop_front();
  }
}

StepRecord BatchLoop::schedule() const {
  StepRecord record;
  record.step_idx = num_steps_;
  record.num_blocks_in_use = free_blocks_.num_usable() - free_blocks_.num_free();
  record.num_waiting = static_cast<std::int64_t>(waiting_.size());

  std::int64_t budget = options_.max_num_batched_tokens;
  for (std::size_t running_idx = 0; running_idx < running_.size() && budget > 0; ++running_idx) {
    const Running& running = running_[running_idx];
    const Generation& generation = generations_[running.req_idx];
    const std::int64_t prompt_len = static_cast<std::int64_t>(generation.prompt_ids.size());
    ScheduledPart scheduled;
    scheduled.req_idx = running.req_idx;
    scheduled.running_idx = static_cast<std::int64_t>(running_idx);
    scheduled.num_computed_tokens = running.num_computed_tokens;
    scheduled.num_tokens = std::min(budget, generation.num_tokens() - running.num_computed_tokens);
    scheduled.is_prefill = running.num_computed_tokens < prompt_len;
    budget -= scheduled.num_tokens;
    (scheduled.is_prefill ? record.num_prefill_tokens : record.num_decode_tokens) +=
        scheduled.num_tokens;
    record.scheduled.push_back(scheduled);
  }
  return record;
}

LlamaBatch BatchLoop::build_batch(const StepRecord& record) const {
  LlamaBatch batch;
  CommonAttentionMetadata& metadata = batch.metadata;
  std::vector<std::vector<std::int32_t>> block_table_rows;
  for (const ScheduledPart& scheduled : record.scheduled) {
    const Generation& generation = generations_[scheduled.req_idx];
    const std::int64_t begin = scheduled.num_computed_tokens;
    const std::int64_t end = begin + scheduled.num_tokens;
    for (std::int64_t position = begin; position < end; ++position) {
      batch.token_ids.push_back(generation.token_at(position));
    }
    const std::int64_t num_tokens = static_cast<std::int64_t>(batch.token_ids.size());
    metadata.query_start_loc.push_back(static_cast<std::int32_t>(num_tokens));
    metadata.seq_lens.push_back(static_cast<std::int32_t>(end));
    block_table_rows.push_back(running_[scheduled.running_idx].blocks);
    // Inside a prompt the next token is known already.
    if (end == generation.num_tokens()) batch.logits_indices.push_back(num_tokens - 1);
  }
  batch.positions = positions_of(metadata.query_start_loc, metadata.seq_lens);
  metadata.block_table = BlockTable::from_rows(block_table_rows);
  metadata.slot_mapping =
      slot_mapping_of(metadata.block_table, metadata.query_start_loc, metadata.seq_lens,
                      options_.block_size, metadata.num_actual_tokens());
  return batch;
}

void BatchLoop::take_next_token(Generation& generation, const GreedyChoice& choice) {
  if (choice.top2_gap != choice.top2_gap) {
    throw Error(
        fmt::format("the logits after token {} of request {} hold a NaN: the backend "
                    "returned values that are not numbers.",
                    generation.num_tokens() - 1, &generation - generations_.data()));
  }
  generation.token_ids.push_back(choice.token_id);
  generation.min_top2_gap = std::min(generation.min_top2_gap, choice.top2_gap);
  const std::vector<std::int32_t>& end_tokens = model_.config().eos_token_ids;
  if (std::find(end_tokens.begin(), end_tokens.end(), choice.token_id) != end_tokens.end()) {
    generation.finish_reason = FinishReason::kStop;
  } else if (static_cast<std::int64_t>(generation.token_ids.size()) == generation.max_tokens) {
    generation.finish_reason = FinishReason::kLength;
  }
}

void BatchLoop::take_next_tokens(const StepRecord& record, const RowMatrix& logits) {
  Eigen::Index logits_row = 0;
  for (const ScheduledPart& scheduled : record.scheduled) {
    Running& running = running_[scheduled.running_idx];
    Generation& generation = generations_[scheduled.req_idx];
    running.num_computed_tokens += scheduled.num_tokens;
    if (running.num_computed_tokens == generation.num_tokens()) {
      take_next_token(generation, greedy_choice(logits.row(logits_row)));
      ++logits_row;
    }
  }
}

void BatchLoop::retire_finished(StepRecord& record) {
  std::vector<Running> still_running;
  for (Running& running : running_) {
    if (generations_[running.req_idx].finish_reason == FinishReason::kNotFinished) {
      still_running.push_back(std::move(running));
    } else {
      free_blocks_.give_back(running.blocks);
      record.finished.push_back(running.req_idx);
    }
  }
  running_ = std::move(still_running);
}

StepRecord BatchLoop::step() {
  if (!has_unfinished()) throw Error("there is no request left to compute a step for.");
  admit_while_blocks_last();
  StepRecord record = schedule();
  const LlamaBatch batch = build_batch(record);
  validate(batch.metadata, AttnType::kDecoder, batch.metadata.num_actual_tokens(), cache_spec_,
           StepUse::kStoreAndAttend);
  const RowMatrix logits = model_.forward(batch, layers_);
  take_next_tokens(record, logits);
  retire_finished(record);
  ++num_steps_;
  return record;
}

void check_request(const LlamaConfig& config,
                   std::int64_t req_idx,
                   const std::vector<std::int32_t>& prompt_ids,
                   std::int64_t max_tokens) {
  const std::int64_t prompt_len = static_cast<std::int64_t>(prompt_ids.size());
  if (prompt_len == 0) {
    throw Error(fmt::format("the prompt of request {} is empty; it must have a token.", req_idx));
  }
  for (std::int64_t position = 0; position < prompt_len; ++position) {
    const std::int32_t token_id = prompt_ids[position];
    if (token_id < 0 || token_id >= config.vocab_size) {
      throw Error(
          fmt::format("token {} at position {} of request {}'s prompt is outside the "
                      "vocabulary of {} tokens.",
                      token_id, position, req_idx, config.vocab_size));
    }
  }
  if (max_tokens < 1) {
    throw Error(fmt::format("max_tokens is {}; it must be 1 or more.", max_tokens));
  }
  if (max_tokens > config.max_position_embeddings - prompt_len) {
    throw Error(
        fmt::format("request {} has {} prompt tokens and asks for {} more, but the model "
                    "has {} positions.",
                    req_idx, prompt_len, max_tokens, config.max_position_embeddings));
  }
}

std::int64_t blocks_for_request(std::int64_t prompt_len,
                                std::int64_t max_tokens,
                                std::int64_t block_size) {
  return blocks_for_tokens(prompt_len + max_tokens - 1, block_size);
}

std::int64_t num_blocks_for_all(const LlamaConfig& config,
                                const std::vector<std::vector<std::int32_t>>& prompts,
                                std::int64_t max_tokens,
                                std::int64_t block_size) {
  check_block_size(block_size);
  std::int64_t num_blocks = 1;  // the null block
  for (std::size_t req_idx = 0; req_idx < prompts.size(); ++req_idx) {
    check_request(config, static_cast<std::int64_t>(req_idx), prompts[req_idx], max_tokens);
    const std::int64_t prompt_len = static_cast<std::int64_t>(prompts[req_idx].size());
    num_blocks += blocks_for_request(prompt_len, max_tokens, block_size);
  }
  return num_blocks;
}

std::vector<Generation> generate(const Llama& model,
                                 const AttentionBackend& backend,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 std::int64_t max_tokens,
                                 const BatchLoopOptions& options,
                                 const std::function<void(const StepRecord&)>& on_step) {
  BatchLoop loop(model, backend, options);
  for (const std::vector<std::int32_t>& prompt : prompts) loop.add_request(prompt, max_tokens);
  while (loop.has_unfinished()) {
    const StepRecord record = loop.step();
    if (on_step) on_step(record);
  }
  return loop.generations();
}

}  // namespace pagelab
