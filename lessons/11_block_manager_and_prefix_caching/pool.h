/// \file
/// A pool of blocks as small as it can be and still behave as pagelab's does (simulator/engine/cache/block_pool.h):
/// the words of this lesson's exercise.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace pagelab::lesson_11 {

/// Stands for what a full block holds. Blocks of equal keys hold the same keys and values.
using Key = std::uint64_t;

/// The key of a block that is not in the cache map; also what comes before a request's first block.
inline constexpr Key kNoKey = 0;

/// A number that stands for its three arguments: if one of them differs, so does the number. (It is a hash of 64
/// bits. What follows from that is in the README, under "What we left out".)
/// \param parent  a key, or kNoKey
/// \param tokens  of one block
/// \param extra   anything else that decides what the block holds; empty: nothing
inline Key hash_of(Key parent, const std::vector<int>& tokens, const std::string& extra) {
  Key hash = 0xcbf29ce484222325u;
  const auto add = [&hash](Key number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  add(parent);
  for (const int token : tokens) add(static_cast<Key>(token));
  for (const char character : extra) add(static_cast<unsigned char>(character));
  return hash;
}

/// Physical blocks, and what is known of each. Block 0 is the null block, which nobody gets.
struct Pool {
  std::vector<int> ref_cnt;      ///< [num_blocks] requests whose tables hold it
  std::vector<Key> keys;         ///< [num_blocks] kNoKey: it is not in the cache map
  std::deque<int> free_queue;    ///< blocks that nobody uses; the next to be handed out in front
  std::map<Key, int> cache_map;  ///< the block that holds what a key stands for, free or in use
  bool operator==(const Pool&) const = default;  ///< member by member
};

}  // namespace pagelab::lesson_11
