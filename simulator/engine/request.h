/// \file
/// What the engine knows of one request: its tokens, how many of them are computed, and the blocks
/// that hold their keys and values. The scheduler and the manager change it; nobody else does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/cache/block_pool.h"
#include "simulator/engine/cache/prefix_table.h"

namespace pagelab {

/// The number by which a user knows a request.
using RequestId = std::int64_t;

/// Where a request is in its life.
enum class RequestStatus {
  kWaiting,    ///< never admitted
  kRunning,    ///< holds blocks
  kPreempted,  ///< waits again; what was computed is lost
  kFinished    ///< stopped or aborted; holds nothing
};

/// The status as text: "running".
std::string_view to_string(RequestStatus status);

/// An image or the like, whose embeddings stand in place of some prompt tokens.
struct MultiModalItem {
  std::string identifier;   ///< equal for equal content
  std::int32_t offset = 0;  ///< first position it covers
  std::int32_t length = 0;  ///< positions it covers
};

/// What besides its tokens decides a request's keys and values. Requests share cached blocks only if
/// all of this is equal, too. (The model and the cache's format need no key: a pool has one of each.)
struct CacheIdentity {
  std::string lora_name;   ///< adapter; empty: none
  std::string lora_path;   ///< where it was loaded from
  std::string cache_salt;  ///< keeps tenants apart; part of block 0, and so of all after it
  std::vector<MultiModalItem> items;  ///< in the order of their offsets
};

/// The part of an identity that decides one block, as a text; empty if tokens alone decide.
/// \param identity  of the request
/// \param start     the block's first position
/// \param end       the position after its last one
/// \source vLLM v1/core/kv_cache_utils.py, generate_block_hash_extra_keys
std::string extra_key_text(const CacheIdentity& identity, std::int32_t start, std::int32_t end);

/// A request's blocks in one cache group.
struct GroupBlocks {
  std::vector<BlockId> blocks;  ///< [logical block] physical block; kNullBlock left of a window
  std::int32_t num_cached_blocks = 0;  ///< leading blocks that the cache map has been told of
  std::int32_t num_new_blocks = 0;     ///< the last ones, which were appended last
};

/// One request.
/// \source vLLM v1/request.py, Request
struct Request {
  /// \param id          the user's number of it
  /// \param prompt      at least one token
  /// \param max_tokens  output tokens after which it stops, at least 1
  /// \throws Error      if a value is out of range
  Request(RequestId id, std::vector<TokenId> prompt, std::int32_t max_tokens);

  RequestId id;                         ///< the user's number
  std::vector<TokenId> tokens;          ///< prompt, then output
  std::int32_t num_prompt_tokens;       ///< of tokens
  std::int32_t max_tokens;              ///< output tokens after which it stops
  std::vector<TokenId> stop_token_ids;  ///< any of them, once sampled, ends it before max_tokens do
  std::int64_t priority = 0;            ///< smaller goes first, where the policy is priority
  double arrival_time = 0;              ///< seconds; breaks ties of priority
  CacheIdentity identity;               ///< who may share its blocks
  bool skip_reading_prefix_cache =
      false;  ///< opts out of hits; its own blocks are cached all the same
  RequestStatus status = RequestStatus::kWaiting;  ///< where it is
  std::int32_t num_computed_tokens = 0;            ///< scheduled so far, rejected drafts taken back
  std::int32_t num_draft_tokens = 0;               ///< proposed for its next step
  std::int32_t num_output_placeholders =
      0;                                  ///< asynchronous: output tokens to come, drafts included
  std::int32_t num_in_flight_tokens = 0;  ///< scheduled, output not yet seen
  std::int32_t num_stale_tokens = 0;      ///< of those, scheduled before its last preemption
  std::int32_t num_preemptions = 0;       ///< so far
  std::int32_t num_preemptions_at_reset = 0;  ///< output scheduled before so many is dropped
  bool is_prefill_chunk = false;              ///< its last step ended before its known tokens did
  std::vector<PrefixId>
      block_hashes;                 ///< [full blocks of hash_block_size] prefix that each one ends
  std::vector<GroupBlocks> groups;  ///< [cache groups] its block tables

  /// Tokens whose values are known: prompt and output.
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens.size()); }
  /// Output tokens.
  std::int32_t num_output_tokens() const { return num_tokens() - num_prompt_tokens; }
  /// Tokens that a step could compute: the known ones and the drafts.
  std::int32_t num_tokens_with_drafts() const { return num_tokens() + num_draft_tokens; }
};

/// "request 3, running: 24 of 26 tokens computed, 20 of them prompt; blocks [5 2 7]".
std::string to_string(const Request& request);

/// Names the blocks that have become full since the last call.
/// \param request     its block_hashes are extended
/// \param block_size  tokens a block
/// \param prefixes    the names
void update_block_hashes(Request& request, std::int32_t block_size, PrefixTable& prefixes);

}  // namespace pagelab
