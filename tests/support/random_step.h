/// \file
/// Random attention steps for tests: odd sizes, shuffled blocks, poison wherever nothing may be
/// read. The generator and its mapping to numbers are our own, so a seed gives the same bytes on
/// every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"

namespace pagelab::test {

/// A source of numbers that is the same everywhere (std distributions are not).
class Random {
 public:
  /// \param seed  printed by whoever uses it
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 64 random bits.
  std::uint64_t bits() { return engine_(); }
  /// A whole number in [first, last], both included.
  std::int64_t whole(std::int64_t first, std::int64_t last);
  /// A number in [low, high), one of 2^53.
  double real(double low, double high);
  /// The numbers 0 … count − 1 in random order.
  std::vector<std::int32_t> permutation(std::int64_t count);

 private:
  std::mt19937_64 engine_;
};

/// How long each request's query is, compared with its sequence.
enum class BatchKind : std::uint8_t {
  kDecode,   ///< one query token
  kPrefill,  ///< the whole sequence
  kChunked,  ///< some of it, at least one token
  kMixed,    ///< any of these, request by request
};

/// Lengths of one request.
struct RequestLens {
  std::int32_t query_len;  ///< tokens of this step
  std::int32_t seq_len;    ///< tokens in the cache once this step's are written
};

/// What a random step is made of. Every field is a fact about the step; the seed fills in the rest.
struct RandomStepOptions {
  DType dtype = DType::kFloat32;        ///< of query, key and value
  std::optional<DType> kv_cache_dtype;  ///< of the cache, where it differs
  KvLayout layout;                      ///< arrangement of the cache
  bool scales_per_head = false;  ///< fp8: one k_scale and v_scale a KV head, else one for all

  std::int64_t num_query_heads = 6;  ///< a multiple of num_kv_heads
  std::int64_t num_kv_heads = 2;     ///< KV heads
  std::int64_t head_size = 10;       ///< elements of a query and a key
  std::int64_t head_size_v = 6;      ///< elements of a value
  std::int64_t block_size = 4;       ///< tokens a block
  std::int64_t spare_blocks = 3;     ///< blocks of the pool that no request uses, full of NaN

  BatchKind kind = BatchKind::kMixed;  ///< query lengths, where `requests` is empty
  std::int64_t num_reqs = 5;           ///< requests, where `requests` is empty
  std::int32_t min_seq_len = 1;        ///< shortest sequence drawn
  std::int32_t max_seq_len = 23;       ///< longest sequence drawn
  std::vector<RequestLens> requests;   ///< the lengths themselves, instead of the four above
  std::int64_t num_empty_reqs = 0;     ///< more requests, at random places: no query, no sequence
  std::int64_t num_idle_reqs = 0;      ///< more requests, at random places: a sequence, no query
  std::int64_t padding_rows = 0;       ///< rows past the last request, NaN, slot −1

  /// Tokens inside the batch whose slot is −1, in percent: their key and value are NaN, and the
  /// cache holds others in their place.
  std::int64_t unstored_percent = 0;
  /// Leading blocks that all requests share, as far as each one's context fills whole blocks.
  std::int64_t shared_prefix_blocks = 0;
  /// Unused block-table entries hold rubbish instead of −1.
  bool stale_table_entries = false;
  /// Table columns more than the longest request needs.
  std::int64_t spare_table_columns = 2;
  /// Queries up to this much longer than their sequence; nothing is stored then.
  std::int32_t query_excess = 0;

  /// encoder_only: no blocks, no table columns, every slot −1.
  bool without_cache = false;

  AttnType attn_type = AttnType::kDecoder;  ///< whose keys; encoder_decoder stores nothing
  bool causal = true;                       ///< decoder only: the encoder types never are
  std::int32_t window_left = kUnbounded;    ///< keys before the query's own
  std::int32_t window_right = kUnbounded;   ///< keys after it
  std::optional<double> logit_softcap;      ///< soft cap
  bool alibi = false;                       ///< random slopes
  bool sinks = false;           ///< random sinks; one of several heads gets −∞ (none)
  bool mm_prefix = false;       ///< up to two ranges a request, and padding rows
  std::optional<double> scale;  ///< else 1/√head_size
  double amplitude = 1.5;       ///< elements lie in [−amplitude, amplitude)
};

/// A valid step with these properties. Slots that this step will write, and every slot that no
/// request uses, hold NaN.
/// \param options  what it is made of
/// \param seed     everything else
/// \throws Error   if the options contradict each other
AttentionStep random_step(const RandomStepOptions& options, std::uint64_t seed);

}  // namespace pagelab::test
