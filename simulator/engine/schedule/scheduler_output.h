/// \file
/// What one step computes, and what came out of it: the letters that scheduler and worker exchange.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/engine/request.h"

namespace pagelab {

/// A request's part in a step.
struct ScheduledTokens {
  RequestId id;                      ///< the user's number of it
  std::int32_t num_tokens;           ///< to be computed in this step, drafts included
  std::int32_t num_draft_tokens;     ///< of those
  std::int32_t num_computed_tokens;  ///< before this step: the position of its first query
  bool is_prefill_chunk;             ///< known tokens remain after this step, so none is sampled
  std::int32_t num_preemptions;      ///< of the request, when it was scheduled
  Request* request;                  ///< its state; valid until update_from_output of this step
};

/// The whole block table of a request that was admitted in this step. It replaces what a worker may
/// remember of the request: one that resumes has none of its old blocks.
struct AdmittedRequest {
  RequestId id;                                 ///< the user's number
  std::int32_t num_computed_tokens;             ///< prefix hits
  std::vector<std::vector<BlockId>> block_ids;  ///< [groups][blocks]
};

/// Blocks that a running request's table grows by.
struct NewBlocks {
  RequestId id;                                 ///< the user's number
  std::vector<std::vector<BlockId>> block_ids;  ///< [groups][blocks]; behind those that it has
};

/// One step.
/// \source vLLM v1/core/sched/output.py, SchedulerOutput
struct SchedulerOutput {
  std::vector<ScheduledTokens> scheduled;         ///< running requests first, then those admitted
  std::vector<AdmittedRequest> new_requests;      ///< admitted for the first time
  std::vector<AdmittedRequest> resumed_requests;  ///< admitted again after a preemption
  std::vector<NewBlocks> new_blocks;              ///< of running requests that got any
  std::vector<RequestId> preempted_req_ids;       ///< since the last step
  std::vector<RequestId> finished_req_ids;        ///< since the last step: forget them
  std::int32_t total_num_scheduled_tokens = 0;    ///< of all requests
  std::int32_t num_common_prefix_blocks = 0;      ///< KVCacheManager::get_num_common_prefix_blocks
};

/// The step in one line, long lists cut: "2 tokens: 0: 1 from 8, 1: 1 from 8; grown 0 [5]; preempted 2".
std::string to_string(const SchedulerOutput& output);

/// What the model sampled: for each scheduled request one token and one more for each accepted draft,
/// or none for a prefill chunk.
struct SampledTokens {
  std::vector<TokenId> tokens;      ///< of all requests
  std::vector<std::int32_t> start;  ///< [scheduled + 1] where each request's tokens begin
};

/// What a user gets of a step.
struct EngineOutput {
  /// One request's new tokens.
  struct Part {
    RequestId id;             ///< the user's number
    std::int32_t first;       ///< of its tokens, in tokens
    std::int32_t num_tokens;  ///< at least 1
    bool is_finished;         ///< nothing will follow
  };
  std::vector<TokenId> tokens;  ///< of all requests
  std::vector<Part> parts;      ///< in the order of the step
};

}  // namespace pagelab
