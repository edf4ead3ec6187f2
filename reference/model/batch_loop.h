/// \file
/// The first batch loop: greedy decoding of many requests in one continuous batch over one paged
/// cache. Small on purpose; the engine (simulator/engine) does the same with prefix caching and
/// preemption.
///
/// - First come, first served: the request that has waited longest is admitted as soon as the pool
///   has the blocks that it will need until its last token. Reserving them all up front means that
///   no request ever has to be thrown out for want of a block, at the price of blocks that lie idle
///   until the text reaches them.
/// - A step computes at most `max_num_batched_tokens` tokens. Admitted requests get them in order
/// of
///   admission: one token where a request decodes, as much of its prompt as the budget still holds
///   where it does not. So a long prompt is computed in chunks, next to other requests' decodes.
/// - A finished request gives its blocks back at once, and the next one may enter in the next step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reference/model/free_blocks.h"
#include "reference/model/greedy.h"
#include "reference/model/llama.h"

namespace pagelab {

/// What the loop may use.
struct BatchLoopOptions {
  std::int64_t block_size = 16;                   ///< tokens a block
  std::int64_t num_blocks = 0;                    ///< the pool, null block included; 2 or more
  std::int64_t max_num_batched_tokens = 64;       ///< tokens a step, 1 or more
  DType kv_cache_dtype = DType::kFloat32;         ///< stored type of keys and values
  KvLayout kv_layout;                             ///< physical arrangement of the cache
  std::optional<std::uint64_t> block_order_seed;  ///< shuffles the pool; the text may not change
};

/// Why a text ended.
enum class FinishReason : std::uint8_t {
  kNotFinished,  ///< it has not
  kLength,       ///< max_tokens were generated
  kStop,         ///< one of the model's end tokens was generated; it is the last token
};

/// "unfinished", "length" or "stop".
std::string to_string(FinishReason reason);

/// One request and what has been generated for it.
struct Generation {
  std::vector<std::int32_t> prompt_ids;  ///< as given
  std::int64_t max_tokens = 0;           ///< as given
  std::vector<std::int32_t> token_ids;   ///< generated ones only
  /// The smallest distance between the best and the second-best logit so far; ∞ before the first.
  double min_top2_gap = std::numeric_limits<double>::infinity();
  FinishReason finish_reason = FinishReason::kNotFinished;  ///< why it ended

  /// Prompt and generated tokens so far.
  std::int64_t num_tokens() const {
    return static_cast<std::int64_t>(prompt_ids.size() + token_ids.size());
  }
  /// The token at a position of prompt and generated text.
  std::int32_t token_at(std::int64_t position) const {
    const std::int64_t prompt_len = static_cast<std::int64_t>(prompt_ids.size());
    return position < prompt_len ? prompt_ids[position] : token_ids[position - prompt_len];
  }
};

/// One request's part of a step.
struct ScheduledPart {
  std::int64_t req_idx = 0;              ///< as add_request returned it
  std::int64_t running_idx = 0;          ///< its place in order of admission
  std::int64_t num_computed_tokens = 0;  ///< in the cache before the step
  std::int64_t num_tokens = 0;           ///< computed in this step
  bool is_prefill = false;               ///< prompt tokens; else one generated token
};

/// What one step did.
struct StepRecord {
  std::int64_t step_idx = 0;             ///< counted from 0
  std::vector<ScheduledPart> scheduled;  ///< in the order of the batch
  std::int64_t num_prefill_tokens = 0;   ///< prompt tokens computed
  std::int64_t num_decode_tokens = 0;    ///< generated tokens fed back
  std::int64_t num_blocks_in_use = 0;    ///< reserved during the step
  std::int64_t num_waiting = 0;          ///< requests not yet admitted after it
  std::vector<std::int64_t> finished;    ///< requests whose text ended in it
};

/// One line: "step 3: 2 decode + 14 prefill tokens, 9 blocks in use, 1 waiting".
std::string to_string(const StepRecord& record);

/// Greedy decoding over one pool of blocks.
class BatchLoop {
 public:
  /// \param model    outlives the loop
  /// \param backend  where cache and attention live
  /// \param options  the pool and the budget
  /// \throws Error   if an option is out of range, or the cache would not fit this machine's memory
  BatchLoop(const Llama& model, const AttentionBackend& backend, const BatchLoopOptions& options);

  /// Queues a request.
  /// \param prompt_ids  one token or more
  /// \param max_tokens  to generate, one or more
  /// \returns           its index, counted from 0
  /// \throws Error      if it can never run: a token outside the vocabulary, more tokens than the
  ///                    model has positions, or more blocks than the pool has
  std::int64_t add_request(std::vector<std::int32_t> prompt_ids, std::int64_t max_tokens);

  /// Whether some request still waits or runs.
  bool has_unfinished() const { return !waiting_.empty() || !running_.empty(); }

  /// Computes one batch.
  /// \throws Error  if nothing is left to do, or the backend fails
  StepRecord step();

  /// Every request so far, by index.
  const std::vector<Generation>& generations() const { return generations_; }

 private:
  struct Running {
    std::int64_t req_idx;
    std::vector<std::int32_t> blocks;      // reserved to the last token, in logical order
    std::int64_t num_computed_tokens = 0;  // whose keys and values are in the cache
  };

  std::int64_t blocks_for(const Generation& generation) const;
  void admit_while_blocks_last();
  StepRecord schedule() const;
  LlamaBatch build_batch(const StepRecord& record) const;
  void take_next_tokens(const StepRecord& record, const RowMatrix& logits);
  void take_next_token(Generation& generation, const GreedyChoice& choice);
  void retire_finished(StepRecord& record);

  const Llama& model_;
  BatchLoopOptions options_;  // checked before anything is allocated
  KvCacheSpec cache_spec_;
  FreeBlocks free_blocks_;
  AttentionLayers layers_;
  std::vector<Generation> generations_;
  std::deque<std::int64_t> waiting_;  // indices into generations_
  std::vector<Running> running_;      // in order of admission
  std::int64_t num_steps_ = 0;
};

/// Refuses a request that no pool could help.
/// \param config      the model's
/// \param req_idx     for the message
/// \param prompt_ids  one token or more
/// \param max_tokens  to generate, one or more
/// \throws Error      if a token is outside the vocabulary, or the model lacks the positions
void check_request(const LlamaConfig& config,
                   std::int64_t req_idx,
                   const std::vector<std::int32_t>& prompt_ids,
                   std::int64_t max_tokens);

/// Blocks that a request needs until its last token. That token is returned and never stored.
std::int64_t blocks_for_request(std::int64_t prompt_len,
                                std::int64_t max_tokens,
                                std::int64_t block_size);

/// The smallest pool in which all of these requests run at once, null block included.
/// \throws Error  for a request that check_request refuses, or a block_size less than 1
std::int64_t num_blocks_for_all(const LlamaConfig& config,
                                const std::vector<std::vector<std::int32_t>>& prompts,
                                std::int64_t max_tokens,
                                std::int64_t block_size);

/// Runs a loop over these prompts until all are answered.
/// \param model       outlives the call
/// \param backend     where cache and attention live
/// \param prompts     token ids, one list a request
/// \param max_tokens  to generate for each
/// \param options     the pool and the budget
/// \param on_step     called after every step; may be empty
/// \returns           the generations, in the order of the prompts
/// \throws Error      as BatchLoop does
std::vector<Generation> generate(const Llama& model,
                                 const AttentionBackend& backend,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 std::int64_t max_tokens,
                                 const BatchLoopOptions& options,
                                 const std::function<void(const StepRecord&)>& on_step = {});

}  // namespace pagelab
