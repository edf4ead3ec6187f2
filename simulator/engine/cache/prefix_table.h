/// \file
/// Names of prefixes. A full block's content in the cache depends on its own tokens and on all tokens
/// before it, so the cache is asked for "this block after that prefix". vLLM names such a prefix by a
/// chained hash; here each different prefix gets the next whole number, and two prefixes have the same
/// number only if every token of them was compared and found equal. A hash merely finds candidates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pagelab {

/// A token's number in the vocabulary.
using TokenId = std::int32_t;

/// The name of a prefix that ends with a full block: 0, 1, 2, … in the order of their first use.
using PrefixId = std::int32_t;

/// What comes before block 0; also the key of a block that has none.
constexpr PrefixId kNoPrefix = -1;

/// The name of what else, besides tokens, decides a block's content: an adapter, a salt, an image.
using ExtraKeyId = std::int32_t;

/// Tokens alone decide.
constexpr ExtraKeyId kNoExtraKey = 0;

/// What distinguishes a full block: the prefix before it, its tokens, and what else decides them.
struct BlockContent {
  PrefixId parent;                  ///< the prefix that ends where the block begins
  std::span<const TokenId> tokens;  ///< [block_size]
  ExtraKeyId extra_key;             ///< kNoExtraKey where there is nothing else
};

/// Finds candidates; a bad one costs time, never a wrong hit.
using BlockHashFunction = std::uint64_t (*)(const BlockContent& content);

/// The hash used where no other is given.
std::uint64_t hash_block_content(const BlockContent& content);

/// Every prefix that was ever seen, as a tree. Most prefixes are continued in one way only: that
/// one, the first child, is known to its parent, and the tokens of a prompt's blocks lie one after
/// another. Only further children are looked up by their hash.
///
///     blocks of 2     a b │ c d │ e f        0 ─ 1 ─ 2     first children: of nothing 0, of 0 1, of 1 2
///                     a b │ x y │ e f            └ 3 ─ 4   a further child of 0, and its first child
///     names           0 3 4: "e f" after "x y" is another prefix than after "c d"
///
/// Nothing is ever forgotten: memory grows with the number of different prefixes.
/// \source vLLM v1/core/kv_cache_utils.py, hash_block_tokens
/// Differs: contents are compared in full, so that equal hashes of different contents do no harm.
class PrefixTable {
 public:
  /// \param block_size  tokens a block, at least 1
  /// \param hash        finds candidates
  explicit PrefixTable(std::int32_t block_size, BlockHashFunction hash = hash_block_content);

  /// The name of the prefix that ends with this block; a new one if it was never seen.
  PrefixId prefix_of(const BlockContent& content);

  /// The name of a text that decides a block's content; kNoExtraKey for the empty one.
  ExtraKeyId extra_key_of(std::string_view text);

  /// Different prefixes seen so far.
  std::int32_t num_prefixes() const { return static_cast<std::int32_t>(entries_.size()); }

 private:
  struct Entry {
    PrefixId parent;
    ExtraKeyId extra_key;
    PrefixId first_child;
  };
  // A place of the hash table. A part of the hash rules out most candidates without a look at them.
  struct Place {
    PrefixId prefix = kNoPrefix;
    std::uint32_t part_of_hash = 0;
  };

  PrefixId first_child_of(PrefixId parent) const;
  PrefixId add(const BlockContent& content);
  PrefixId further_child(const BlockContent& content);
  BlockContent content_of(PrefixId prefix) const;
  bool is_equal(PrefixId prefix, const BlockContent& content) const;
  void grow();

  std::int32_t block_size_;
  BlockHashFunction hash_;
  PrefixId first_root_ = kNoPrefix;                         // first child of nothing
  std::vector<Entry> entries_;                              // [num_prefixes]
  std::vector<TokenId> tokens_;                             // [num_prefixes, block_size]
  std::vector<Place> places_;                               // further children; a power of two
  std::size_t num_further_children_ = 0;                    // at most half of the places
  std::unordered_map<std::string, ExtraKeyId> extra_keys_;  // by text
};

}  // namespace pagelab
