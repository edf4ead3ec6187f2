/// \file
/// One number for many bytes, for golden tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/tensor/tensor.h"

namespace pagelab::test {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class ByteHash {
 public:
  /// Takes in some bytes.
  void add(const void* bytes, std::size_t count) {
    const unsigned char* const first = static_cast<const unsigned char*>(bytes);
    for (std::size_t index = 0; index < count; ++index) {
      hash_ = (hash_ ^ first[index]) * 0x100000001b3u;
    }
  }
  /// Takes in the elements of an array, as they lie in memory.
  void add(const Tensor& tensor) {
    add(tensor.bytes(), static_cast<std::size_t>(tensor.size_in_bytes()));
  }
  /// Takes in the elements of a vector, as they lie in memory.
  template <typename T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  /// The hash of all bytes so far.
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

/// The hash of a tensor's bytes.
inline std::uint64_t hash_of(const Tensor& tensor) {
  ByteHash hash;
  hash.add(tensor);
  return hash.value();
}

/// The hash of what a step's results are made of. If it differs, the steps have changed since a GPU ran, and it has
/// to run again.
inline std::uint64_t hash_of_inputs(const AttentionStep& step) {
  ByteHash hash;
  hash.add(step.query);
  hash.add(step.key);
  hash.add(step.value);
  hash.add(step.cache.keys());
  hash.add(step.cache.values());
  const CommonAttentionMetadata& metadata = step.metadata;
  hash.add(metadata.block_table.entries);
  hash.add(metadata.slot_mapping);
  hash.add(metadata.query_start_loc);
  hash.add(metadata.seq_lens);
  return hash.value();
}

}  // namespace pagelab::test
