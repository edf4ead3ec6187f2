/// \file
/// What must hold of a pool and of all block tables after every operation, whatever came before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/engine/cache/kv_cache_manager.h"

namespace pagelab::test {

/// Watches one manager. It knows what each block holds from the tokens alone, and nothing of keys.
class InvariantCheck {
 public:
  /// \param manager  to be watched
  explicit InvariantCheck(const KVCacheManager& manager);

  /// The first invariant that does not hold, in one sentence; empty if all do.
  /// \param requests  all that may hold blocks
  std::string broken(std::span<const Request* const> requests);

  /// What is wrong with a hit: a block of other content; empty if nothing is.
  std::string wrong_hit(const Request& request, const PrefixHit& hit) const;

  /// Notes what a request's blocks hold now that its first `num_computed_tokens` are computed.
  void note_contents(const Request& request);

 private:
  struct Use {
    std::int32_t count = 0;  // tables that hold the block
    std::int32_t group = 0;
    std::int32_t logical_block = 0;
    const Request* request = nullptr;  // the first of them
  };

  std::string count_uses(std::span<const Request* const> requests);
  std::string check_queue();
  std::string check_keys();
  std::int32_t longest_hit(const Request& request) const;

  const KVCacheManager& manager_;
  std::vector<Use> uses_;                // [num_blocks]
  std::vector<std::uint64_t> contents_;  // [num_blocks] fingerprint of all tokens up to its end
  std::vector<char> is_seen_;            // [num_blocks]
};

}  // namespace pagelab::test
