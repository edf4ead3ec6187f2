/// \file
/// The engine that writes texts: scheduler and model runner in one loop, many requests in one continuous batch over
/// one paged cache. Whatever of prefix caching, chunked prefill, preemption, cascade and graphs is on, the texts are
/// the same; only the way there differs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/generation/generation.h"
#include "simulator/engine/generation/model_runner.h"
#include "simulator/engine/generation/step_record.h"
#include "simulator/engine/schedule/scheduler.h"

namespace pagelab {

/// What the engine may use, under vLLM's names.
struct EngineOptions {
  std::int64_t block_size = 16;              ///< tokens a block
  std::int64_t num_blocks = 0;               ///< the pool, null block included; 2 or more
  std::int64_t max_num_batched_tokens = 64;  ///< tokens a step, 1 or more
  std::int64_t max_num_seqs = 256;           ///< requests that run at once, 1 or more
  bool enable_prefix_caching = true;         ///< full blocks are kept for other requests
  bool enable_chunked_prefill = true;        ///< a prompt may be computed in several steps
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::kNone;  ///< resolved (mode_resolution.h)
  bool cascade = false;                    ///< the first model runner, with cascade attention
  std::int64_t num_sms = 132;              ///< multiprocessors that cascade's rule counts with
  DType kv_cache_dtype = DType::kFloat32;  ///< stored type of keys and values
  KvLayout kv_layout;                      ///< physical arrangement of the cache
  std::optional<std::uint64_t> block_order_seed;  ///< shuffles the pool; the text may not change
};

/// The sizes for which graphs are recorded under these options.
/// \throws Error  if max_num_seqs or max_num_batched_tokens is below 1
CaptureSizes capture_sizes_of(const EngineOptions& options);

/// Greedy decoding over one pool of blocks.
/// \source vLLM v1/engine/core.py, EngineCore
class EngineCore {
 public:
  /// \param model    outlives the engine
  /// \param backend  where cache and attention live
  /// \param options  the pool and what is made of it
  /// \throws Error   if an option is out of range, the backend lacks what it asks for, or the cache would not fit
  ///                 this machine's memory
  EngineCore(const Llama& model, const AttentionBackend& backend, const EngineOptions& options);

  /// Queues a request.
  /// \param prompt_ids  one token or more
  /// \param max_tokens  to generate, one or more
  /// \returns           its index, counted from 0
  /// \throws Error      if it can never run: a token outside the vocabulary, more tokens than the
  ///                    model has positions, or more blocks than the pool has
  std::int64_t add_request(std::vector<std::int32_t> prompt_ids, std::int64_t max_tokens);

  /// Whether some request still waits or runs.
  bool has_unfinished() const { return num_unfinished_ > 0; }

  /// Computes one batch.
  /// \throws Error  if nothing is left to do, or the backend fails
  StepRecord step();

  /// The model with its graphs; null where nothing is recorded: without graphs, or on a backend without kernels.
  const RecordedModel* recorded_model() const { return runner_.recorded_model(); }

  /// Every request so far, by index.
  const std::vector<Generation>& generations() const { return generations_; }

 private:
  void take_next_tokens(const EngineOutput& output,
                        const std::vector<double>& top2_gap,
                        StepRecord& record);

  const Llama& model_;
  Scheduler scheduler_;
  ModelRunner runner_;
  std::vector<Generation> generations_;
  std::int64_t num_unfinished_ = 0;
  std::int64_t num_steps_ = 0;
};

/// Runs an engine over these prompts until all are answered.
/// \param model       outlives the call
/// \param backend     where cache and attention live
/// \param prompts     token ids, one list a request
/// \param max_tokens  to generate for each
/// \param options     the pool and what is made of it
/// \param on_step     called after every step; may be empty
/// \returns           the generations, in the order of the prompts
/// \throws Error      as EngineCore does
std::vector<Generation> generate(const Llama& model,
                                 const AttentionBackend& backend,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 std::int64_t max_tokens,
                                 const EngineOptions& options,
                                 const std::function<void(const StepRecord&)>& on_step = {});

}  // namespace pagelab
