#include "simulator/engine/cache/prefix_table.h"

#include <algorithm>
#include <utility>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

constexpr std::size_t kFirstPlaces = 1024;  // a power of two

// Spreads a change of any bit over all bits (the finalizer of SplitMix64).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

std::uint32_t upper_half(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); }

}  // namespace

std::uint64_t hash_block_content(const BlockContent& content) {
  std::uint64_t hash = mixed((static_cast<std::uint64_t>(content.parent) << 32) ^
                             static_cast<std::uint32_t>(content.extra_key));
  for (const TokenId token : content.tokens) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return mixed(hash);
}

PrefixTable::PrefixTable(std::int32_t block_size, BlockHashFunction hash)
    : block_size_(block_size), hash_(hash), places_(kFirstPlaces) {
  if (block_size < 1) refuse("block_size is {}; it must be at least 1.", block_size);
}

PrefixId PrefixTable::prefix_of(const BlockContent& content) {
  if (content.tokens.size() != static_cast<std::size_t>(block_size_)) {
    refuse("a block of {} tokens has no name; only full blocks of {} have one.",
           content.tokens.size(), block_size_);
  }
  const PrefixId first = first_child_of(content.parent);
  if (first == kNoPrefix) {
    const PrefixId added = add(content);
    (content.parent == kNoPrefix ? first_root_ : entries_[content.parent].first_child) = added;
    return added;
  }
  return is_equal(first, content) ? first : further_child(content);
}

PrefixId PrefixTable::first_child_of(PrefixId parent) const {
  return parent == kNoPrefix ? first_root_ : entries_[parent].first_child;
}

PrefixId PrefixTable::add(const BlockContent& content) {
  entries_.push_back({content.parent, content.extra_key, kNoPrefix});
  tokens_.insert(tokens_.end(), content.tokens.begin(), content.tokens.end());
  return num_prefixes() - 1;
}

PrefixId PrefixTable::further_child(const BlockContent& content) {
  if (2 * (num_further_children_ + 1) > places_.size()) grow();
  const std::uint64_t hash = hash_(content);
  const std::size_t mask = places_.size() - 1;
  std::size_t index = hash & mask;
  for (; places_[index].prefix != kNoPrefix; index = (index + 1) & mask) {
    const Place& place = places_[index];
    if (place.part_of_hash == upper_half(hash) && is_equal(place.prefix, content)) {
      return place.prefix;
    }
  }
  places_[index] = {add(content), upper_half(hash)};
  ++num_further_children_;
  return places_[index].prefix;
}

BlockContent PrefixTable::content_of(PrefixId prefix) const {
  const std::size_t start = static_cast<std::size_t>(prefix) * block_size_;
  return {entries_[prefix].parent, std::span(tokens_).subspan(start, block_size_),
          entries_[prefix].extra_key};
}

bool PrefixTable::is_equal(PrefixId prefix, const BlockContent& content) const {
  const BlockContent known = content_of(prefix);
  return known.parent == content.parent && known.extra_key == content.extra_key &&
         std::equal(known.tokens.begin(), known.tokens.end(), content.tokens.begin());
}

void PrefixTable::grow() {
  const std::vector<Place> old = std::move(places_);
  places_.assign(2 * old.size(), Place());
  const std::size_t mask = places_.size() - 1;
  for (const Place& place : old) {
    if (place.prefix == kNoPrefix) continue;
    std::size_t index = hash_(content_of(place.prefix)) & mask;
    while (places_[index].prefix != kNoPrefix) index = (index + 1) & mask;
    places_[index] = place;
  }
}

ExtraKeyId PrefixTable::extra_key_of(std::string_view text) {
  if (text.empty()) return kNoExtraKey;
  const auto next = static_cast<ExtraKeyId>(extra_keys_.size() + 1);
  return extra_keys_.try_emplace(std::string(text), next).first->second;
}

}  // namespace pagelab
