/// \file
/// A batch of decodes whose requests may begin with the same blocks, attention over a set of keys, and claims about
/// common prefixes: the words of this lesson's exercise.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pagelab::lesson_12 {

using Row = std::vector<double>;  ///< a query, key, value or output: [head_size]

/// A token in the cache.
struct KeyValue {
  Row key;    ///< [head_size]
  Row value;  ///< [head_size]
};

/// The keys and values of all requests, in blocks. It counts how often a token is read.
class PagedCache {
 public:
  /// \param block_size  tokens a block
  /// \param slots       [num_blocks * block_size]
  PagedCache(int block_size, std::vector<KeyValue> slots)
      : block_size_(block_size), slots_(std::move(slots)) {}

  /// Reads a token.
  /// \param table     the blocks of its request
  /// \param position  0 for the request's first token
  /// \throws std::out_of_range  if the table has no such position, or the cache no such block
  const KeyValue& at(const std::vector<int>& table, int position) const {
    const int block = table.at(position / block_size_);
    ++num_reads_;
    return slots_.at(block * block_size_ + position % block_size_);
  }

  int num_reads() const { return num_reads_; }  ///< tokens read so far

 private:
  int block_size_;
  std::vector<KeyValue> slots_;
  mutable int num_reads_ = 0;
};

/// A request with one query. Its token's key and value are in the cache already.
struct Decode {
  Row query;               ///< [head_size]
  std::vector<int> table;  ///< its blocks
  int seq_len;             ///< tokens in them, the new one included
};

/// Attention of one query over a set of tokens.
struct State {
  Row output;  ///< [head_size]; without tokens it may hold anything
  double lse;  ///< ln Σ exp(score); −∞ without tokens
};

/// The same as some kernels report it.
struct StateBase2 {
  Row output;         ///< [head_size]; without tokens it may hold anything
  double lse_base_2;  ///< log2 Σ exp(score); −∞ without tokens
};

/// Attention of a query over tokens; the scale is 1.
/// \param query   [head_size]
/// \param tokens  any number
inline State attend(const Row& query, const std::vector<KeyValue>& tokens) {
  std::vector<double> scores;
  double m = -std::numeric_limits<double>::infinity();
  for (const KeyValue& token : tokens) {
    double score = 0;
    for (std::size_t d = 0; d < query.size(); ++d) score += query[d] * token.key[d];
    scores.push_back(score);
    m = std::max(m, score);
  }
  State state = {Row(query.size(), 0.0), m};
  if (tokens.empty()) return state;
  double l = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double p = std::exp(scores[i] - m);
    l += p;
    for (std::size_t d = 0; d < query.size(); ++d) state.output[d] += p * tokens[i].value[d];
  }
  for (double& element : state.output) element /= l;
  state.lse = m + std::log(l);
  return state;
}

/// attend() as a kernel does it that computes with powers of two.
inline StateBase2 attend_base_2(const Row& query, const std::vector<KeyValue>& tokens) {
  const State state = attend(query, tokens);
  return {state.output, state.lse / std::log(2.0)};
}

/// A batch, and how many leading blocks somebody says that all of it shares.
struct Claim {
  std::string text;                      ///< what happened
  std::vector<std::vector<int>> tables;  ///< of the requests in the batch
  int claimed;                           ///< blocks
};

/// Six claims, of which not all are right. Most come from a scheduler that walks through the first table as long as
/// a block's ref_cnt (lesson 11) is the number of requests that run.
inline std::vector<Claim> six_claims() {
  return {
      {"Three requests hit the same two blocks; nobody else holds a block.",
       {{6, 1, 4}, {6, 1, 9, 2}, {6, 1, 7}},
       2},
      {"Three requests with the prefix 6 1 and two others ran. Two of the three are done, but "
       "their "
       "blocks are still being sent to another machine, and held. So 6 and 1 have three users, and "
       "three requests run.",
       {{6, 1, 4}, {3, 8}, {5, 2, 7}},
       2},
      {"One request runs. All its blocks have one user.", {{6, 1, 4}}, 3},
      {"Three requests run, and hold 6 1 9; two of them are in this batch.",
       {{6, 1, 9, 4}, {6, 1, 9, 5}},
       3},
      {"Two requests came in the same moment with the same prompt, and each has computed a block "
       "of its own behind block 6. 2 and 5 have the same key; somebody compared keys.",
       {{6, 2, 8}, {6, 5, 3}},
       2},
      {"Two requests of 16 tokens and one of 8 with the same beginning.",
       {{6, 1, 9, 4}, {6, 1, 9, 5}, {6, 1}},
       2},
  };
}

/// A layer's heads, all that its bytes depend on.
struct Layer {
  int num_query_heads;  ///< query heads
  int num_kv_heads;     ///< KV heads
  int head_size;        ///< elements of a head
  int element_size;     ///< bytes of an element in the cache
};

/// What a step's attention takes on a GPU, roughly: its bytes, and a time that does not depend on them.
struct Gpu {
  double bytes_per_us;  ///< that its memory moves
  double flat_us;       ///< for the launches of plain attention
  double cascade_us;    ///< for the launches of a cascade, which are more
};

}  // namespace pagelab::lesson_12
