/// \file
/// The KV cache manager: gives requests the blocks that their next tokens need, finds what is cached
/// already, and takes blocks back. The scheduler asks, the block pool keeps the books.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/cache/block_pool.h"
#include "simulator/engine/cache/kv_cache_config.h"
#include "simulator/engine/cache/prefix_search.h"
#include "simulator/engine/cache/prefix_table.h"
#include "simulator/engine/request.h"

namespace pagelab {

/// What a step needs room for.
struct SlotsWanted {
  std::int32_t num_new_tokens = 0;        ///< to be computed in the step
  std::int32_t num_lookahead_tokens = 0;  ///< slots beyond them, which a drafting model writes to
  bool full_sequence_must_fit = false;  ///< admit only if all known tokens fit, not just this chunk
  std::int32_t num_reserved_blocks = 0;  ///< free blocks that are promised to somebody else
  bool has_scheduled_reqs = true;        ///< others run: an admission leaves them the watermark
};

/// Blocks of all requests. A request's tables are in the request (Request::groups).
/// \source vLLM v1/core/kv_cache_manager.py, KVCacheManager
class KVCacheManager {
 public:
  /// \param config   the cache
  /// \param hash     finds candidates among known prefixes
  /// \throws Error   naming the field that is out of range
  explicit KVCacheManager(const KVCacheConfig& config, BlockHashFunction hash = hash_block_content);

  /// The cache.
  const KVCacheConfig& config() const { return config_; }
  /// The blocks.
  const BlockPool& pool() const { return pool_; }

  /// Names the request's blocks that have become full; nothing with caching off. Once when a request
  /// is made, and whenever it has got tokens.
  void hash_full_blocks(Request& request);

  /// The longest cached prefix, at most all tokens but the last: that one is computed again, because
  /// its output is wanted. With whole blocks that costs a block when the prompt ends with one.
  PrefixHit get_computed_blocks(const Request& request) const;

  /// Makes room for a request's next tokens, and tells the cache map of the blocks that they fill.
  /// \param request  its tables are extended
  /// \param wanted   tokens
  /// \param hit      what get_computed_blocks has just found, for a request that holds nothing yet
  /// \returns        how many blocks were appended, all groups together, of which each notes its own
  ///                 (GroupBlocks::num_new_blocks); none if too few are free, and then nothing has
  ///                 changed, except that blocks left of a window are free
  /// \throws Error   if nothing is wanted, or a number is out of range
  std::optional<std::int32_t> allocate_slots(Request& request,
                                             const SlotsWanted& wanted,
                                             const PrefixHit* hit = nullptr);

  /// Gives a request's blocks back, the tail first.
  void free(Request& request);

  /// Frees the blocks that no query sees any more once `num_computed_tokens` are computed.
  void remove_skipped_blocks(Request& request, std::int32_t num_computed_tokens);

  /// Tells the cache map of the full blocks within a request's first `num_tokens`, as far as those are whole
  /// stretches of scheduler_block_size; in a window of those alone that a hit at a stretch's end needs.
  void cache_blocks(Request& request, std::int32_t num_tokens);

  /// Removes blocks from the cache map. \throws Error if there is no such block
  void evict_blocks(std::span<const BlockId> blocks) { pool_.evict_blocks(blocks); }

  /// Empties the cache map, if no request holds a block. \returns whether it did
  bool reset_prefix_cache() { return pool_.reset_prefix_cache(); }

  /// Requests that hold blocks.
  std::int32_t num_requests_with_blocks() const { return num_requests_with_blocks_; }

  /// Leading blocks of a request that as many requests use as there are requests with blocks; 0 for a
  /// window. Group 0. It counts references only: common_prefix_by_tables compares.
  /// \source vLLM 0.20.2 v1/core/single_type_kv_cache_manager.py; gone since 0.32.0
  std::int32_t get_num_common_prefix_blocks(const Request& request) const;

  /// Blocks that a request needs at most to reach a number of tokens, all groups together.
  std::int32_t max_blocks_needed(std::int32_t num_tokens) const;

 private:
  struct Room;  // what one allocation is about
  std::int32_t num_blocks_to_allocate(const Request& request,
                                      const Room& room,
                                      std::int32_t num_tokens,
                                      bool whole_sequence) const;
  std::int32_t append_new_blocks(Request& request, std::int32_t num_slots);
  void adopt(Request& request, const PrefixHit& hit, std::int32_t num_computed_tokens);

  KVCacheConfig config_;
  std::int32_t hash_block_size_;
  std::int32_t scheduler_block_size_;
  BlockPool pool_;
  PrefixTable prefixes_;
  PrefixSearch search_;
  std::int32_t watermark_blocks_;
  std::int32_t num_requests_with_blocks_ = 0;
};

/// Leading blocks that all tables have in common, found by comparing them; 0 for no table.
std::int32_t common_prefix_by_tables(std::span<const Request* const> requests);

}  // namespace pagelab
