// Lesson 11, a solution. There are others: the check judges what the functions return and leave.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lessons/11_block_manager_and_prefix_caching/pool.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_11 {

using lessons::NotSolved;

inline std::vector<Key> block_keys(const std::vector<int>& tokens,
                                   int block_size,
                                   const std::string& salt) {
  std::vector<Key> keys;
  const int num_full = static_cast<int>(tokens.size()) / block_size;
  for (int block = 0; block < num_full; ++block) {
    const auto first = tokens.begin() + block * block_size;
    // What a token's key and value are depends on all tokens before it. They are in the parent's key.
    const Key parent = keys.empty() ? kNoKey : keys.back();
    const std::string extra = block == 0 ? salt : "";
    keys.push_back(hash_of(parent, {first, first + block_size}, extra));
  }
  return keys;
}

inline std::vector<int> find_hit(const Pool& pool,
                                 const std::vector<Key>& keys,
                                 int num_tokens,
                                 int block_size) {
  // Somebody wants what the last token says, and the cache has only what later tokens need of it.
  const int most_blocks = (num_tokens - 1) / block_size;
  std::vector<int> hit;
  for (int block = 0; block < most_blocks; ++block) {
    const auto found = pool.cache_map.find(keys[block]);
    if (found == pool.cache_map.end()) break;
    hit.push_back(found->second);
  }
  return hit;
}

inline std::optional<std::vector<int>> take(Pool& pool, int num_blocks) {
  if (num_blocks > static_cast<int>(pool.free_queue.size())) return std::nullopt;
  std::vector<int> taken;
  for (int i = 0; i < num_blocks; ++i) {
    const int block = pool.free_queue.front();
    pool.free_queue.pop_front();
    // The map forgets the block, and the block its key, in one step: neither is ever seen without the other.
    pool.cache_map.erase(pool.keys[block]);
    pool.keys[block] = kNoKey;
    pool.ref_cnt[block] = 1;
    taken.push_back(block);
  }
  return taken;
}

inline void release(Pool& pool, const std::vector<int>& table) {
  std::vector<int> without_key;
  std::vector<int> with_key;
  // The tail first: it is evicted before its head, and a head alone can still be hit.
  for (auto block = table.rbegin(); block != table.rend(); ++block) {
    if (--pool.ref_cnt[*block] > 0) continue;
    (pool.keys[*block] == kNoKey ? without_key : with_key).push_back(*block);
  }
  // Nobody can hit a block without a key: let it be overwritten before anything that can be hit.
  pool.free_queue.insert(pool.free_queue.begin(), without_key.begin(), without_key.end());
  pool.free_queue.insert(pool.free_queue.end(), with_key.begin(), with_key.end());
}

inline std::optional<std::vector<int>> admit(Pool& pool,
                                             const std::vector<int>& hit,
                                             int num_blocks) {
  // A hit that nobody uses leaves the queue as well, so it costs a free block, though no computation.
  const auto is_free = [&pool](int block) { return pool.ref_cnt[block] == 0; };
  const int num_new = num_blocks - static_cast<int>(hit.size());
  const int num_leaving = num_new + static_cast<int>(std::ranges::count_if(hit, is_free));
  if (num_leaving > static_cast<int>(pool.free_queue.size())) return std::nullopt;

  // Hits leave the queue before anything is taken from it, or they might be taken.
  for (const int block : hit) {
    if (is_free(block)) std::erase(pool.free_queue, block);
    ++pool.ref_cnt[block];
  }
  std::vector<int> table = hit;
  const std::vector<int> taken = *take(pool, num_new);
  table.insert(table.end(), taken.begin(), taken.end());
  return table;
}

}  // namespace pagelab::lesson_11
