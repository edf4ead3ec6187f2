#include "tests/cases/attention_traps.h"

#include <cmath>
#include <functional>
#include <limits>

#include "reference/cache/slot_mapping.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Where an element belongs: request, position in it, head, index in the head.
using Elements = std::function<double(
    std::int64_t req_idx, std::int64_t position, std::int64_t head_idx, std::int64_t element)>;

double zero(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return 0.0; }
double one(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return 1.0; }
double position_itself(std::int64_t, std::int64_t position, std::int64_t, std::int64_t) {
  return static_cast<double>(position);
}

// A column of numbers, one a position.
Elements by_position(std::vector<double> numbers) {
  return [numbers](std::int64_t, std::int64_t position, std::int64_t, std::int64_t) {
    return numbers.at(static_cast<std::size_t>(position));
  };
}

// A step in words: with query 0, all scores are equal, and the output is the mean of the visible
// values, which are their own positions.
struct Recipe {
  std::vector<RequestLens> requests;
  std::int64_t num_query_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_size = 1;
  std::int64_t block_size = 4;
  DType dtype = DType::kFloat32;
  Elements query = zero;
  Elements key = zero;
  Elements value = position_itself;
  double unused_slots = kNaN;
  std::vector<std::vector<std::int32_t>> block_table = {};  // shuffled if empty
  std::int64_t num_blocks = 0;                              // three to spare if 0
};

std::vector<std::vector<std::int32_t>> shuffled_table(const Recipe& recipe,
                                                      std::int64_t num_blocks) {
  constexpr std::uint64_t kSeed = 20261129;
  Random random(kSeed);
  const std::vector<std::int32_t> blocks = random.permutation(num_blocks);
  std::vector<std::vector<std::int32_t>> rows;
  auto next_block = blocks.begin();
  for (const RequestLens& request : recipe.requests) {
    const std::int64_t needed = blocks_for_tokens(request.seq_len, recipe.block_size);
    rows.emplace_back(next_block, next_block + needed);
    next_block += needed;
  }
  return rows;
}

std::int64_t blocks_needed(const Recipe& recipe) {
  std::int64_t needed = 0;
  for (const RequestLens& request : recipe.requests) {
    needed += blocks_for_tokens(request.seq_len, recipe.block_size);
  }
  return needed;
}

CommonAttentionMetadata metadata_of(const Recipe& recipe, std::int64_t num_blocks) {
  CommonAttentionMetadata metadata;
  bool fits = true;  // whether every query fits its sequence, so that its tokens can be stored
  for (const RequestLens& request : recipe.requests) {
    metadata.query_start_loc.push_back(metadata.query_start_loc.back() + request.query_len);
    metadata.seq_lens.push_back(request.seq_len);
    fits = fits && request.query_len <= request.seq_len;
  }
  metadata.block_table = BlockTable::from_rows(
      recipe.block_table.empty() ? shuffled_table(recipe, num_blocks) : recipe.block_table);
  const std::int64_t num_tokens = metadata.num_actual_tokens();
  metadata.slot_mapping.assign(static_cast<std::size_t>(num_tokens), kNoSlot);
  if (fits) {
    metadata.slot_mapping = slot_mapping_of(metadata.block_table, metadata.query_start_loc,
                                            metadata.seq_lens, recipe.block_size, num_tokens);
  }
  return metadata;
}

// The rows of this step's tokens, [T, heads, head_size].
Tensor token_rows(const Recipe& recipe, const Elements& elements, std::int64_t num_heads) {
  std::vector<double> rows;
  for (std::size_t req_idx = 0; req_idx < recipe.requests.size(); ++req_idx) {
    const RequestLens request = recipe.requests[req_idx];
    for (std::int64_t query_idx = 0; query_idx < request.query_len; ++query_idx) {
      const std::int64_t position = request.seq_len - request.query_len + query_idx;
      for (std::int64_t head_idx = 0; head_idx < num_heads; ++head_idx) {
        for (std::int64_t element = 0; element < recipe.head_size; ++element) {
          const std::int64_t req = static_cast<std::int64_t>(req_idx);
          rows.push_back(position < 0 ? 0.0 : elements(req, position, head_idx, element));
        }
      }
    }
  }
  const std::int64_t num_tokens =
      static_cast<std::int64_t>(rows.size()) / (num_heads * recipe.head_size);
  const Tensor wide = Tensor::from_values<double>({num_tokens, num_heads, recipe.head_size}, rows);
  return convert(wide, recipe.dtype);
}

// The cache before the step, [num_blocks, block_size, num_kv_heads, head_size]: the tokens that the
// step itself will not write.
Tensor cached_rows(const Recipe& recipe,
                   const Elements& elements,
                   const CommonAttentionMetadata& metadata,
                   std::int64_t num_blocks) {
  const Shape shape = {num_blocks, recipe.block_size, recipe.num_kv_heads, recipe.head_size};
  Tensor wide(DType::kFloat64, shape);
  std::fill(wide.data<double>(), wide.data<double>() + wide.size(), recipe.unused_slots);
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = metadata.seq_lens[static_cast<std::size_t>(req_idx)];
    const std::int64_t query_len = metadata.query_len(req_idx);
    const bool step_stores = query_len > 0 && metadata.slot_mapping[0] != kNoSlot;
    const std::int64_t num_cached = step_stores ? seq_len - query_len : seq_len;
    for (std::int64_t position = 0; position < num_cached; ++position) {
      const std::int64_t slot =
          slot_of(metadata.block_table.row(req_idx), position, recipe.block_size);
      for (std::int64_t head_idx = 0; head_idx < recipe.num_kv_heads; ++head_idx) {
        double* row =
            wide.data<double>() + (slot * recipe.num_kv_heads + head_idx) * recipe.head_size;
        for (std::int64_t element = 0; element < recipe.head_size; ++element) {
          row[element] = elements(req_idx, position, head_idx, element);
        }
      }
    }
  }
  return convert(wide, recipe.dtype);
}

AttentionStep step_of(const Recipe& recipe) {
  const std::int64_t num_blocks =
      recipe.num_blocks > 0 ? recipe.num_blocks : blocks_needed(recipe) + 3;
  AttentionStep step;
  step.metadata = metadata_of(recipe, num_blocks);
  step.query = token_rows(recipe, recipe.query, recipe.num_query_heads);
  step.key = token_rows(recipe, recipe.key, recipe.num_kv_heads);
  step.value = token_rows(recipe, recipe.value, recipe.num_kv_heads);
  KvCacheSpec spec;
  spec.num_blocks = num_blocks;
  spec.block_size = recipe.block_size;
  spec.num_kv_heads = recipe.num_kv_heads;
  spec.head_size = recipe.head_size;
  spec.head_size_v = recipe.head_size;
  spec.dtype = recipe.dtype;
  step.cache = KvCache(spec);
  step.cache.assign(cached_rows(recipe, recipe.key, step.metadata, num_blocks),
                    cached_rows(recipe, recipe.value, step.metadata, num_blocks));
  return step;
}

// The table under construction.
class Traps {
 public:
  // A trap whose outputs are listed row by row; all elements of a row are alike.
  AttentionTrap& add(std::string name,
                     const Recipe& recipe,
                     const std::vector<double>& outputs,
                     const std::vector<double>& lses) {
    AttentionTrap trap;
    trap.name = std::move(name);
    trap.step = step_of(recipe);
    std::vector<double> elements;
    for (double output : outputs) elements.insert(elements.end(), recipe.head_size, output);
    const std::int64_t num_tokens = trap.step.num_tokens();
    trap.output = Tensor::from_values<double>(
        {num_tokens, recipe.num_query_heads, recipe.head_size}, elements);
    trap.lse = Tensor::from_values<double>({recipe.num_query_heads, num_tokens}, lses);
    traps_.push_back(std::move(trap));
    return traps_.back();
  }

  std::vector<AttentionTrap> take() { return std::move(traps_); }

 private:
  std::vector<AttentionTrap> traps_;
};

void add_masks(Traps& traps) {
  Recipe bottom_right;
  bottom_right.requests = {{2, 5}};
  traps.add("R1: the causal mask is anchored at the bottom right", bottom_right, {1.5, 2.0},
            {std::log(4.0), std::log(5.0)});

  Recipe longer_query;
  longer_query.requests = {{5, 2}};
  longer_query.value = by_position({10, 20});
  traps
      .add("R2: a row without a visible key is exactly 0 and its LSE exactly minus infinity",
           longer_query, {0, 0, 0, 10, 15}, {-kInfinity, -kInfinity, -kInfinity, 0, std::log(2.0)})
      .is_exact = true;

  Recipe no_keys;
  no_keys.requests = {{1, 0}, {1, 3}};
  no_keys.num_query_heads = 2;
  no_keys.head_size = 8;
  traps
      .add("R3: an empty key set gives 0 and minus infinity and leaves its neighbour alone",
           no_keys, {0, 0, 1, 1}, {-kInfinity, std::log(3.0), -kInfinity, std::log(3.0)})
      .is_exact = true;

  Recipe very_negative;
  very_negative.requests = {{1, 2}};
  very_negative.query = one;
  very_negative.key = by_position({-60000, -60003});
  very_negative.value = by_position({1, 3});
  const double e3 = std::exp(-3.0);
  traps.add("R4: very negative scores are still scores", very_negative, {(1 + 3 * e3) / (1 + e3)},
            {-60000 + std::log1p(e3)});
}

void add_score_order(Traps& traps) {
  // Scaled scores 8 and 2: products 4 and 1, scale 2.
  Recipe scores;
  scores.requests = {{2, 2}};
  scores.query = one;
  scores.key = by_position({4, 1});
  scores.value = by_position({1, 1000});
  const double capped_8 = 5 * std::tanh(8.0 / 5);
  const double capped_2 = 5 * std::tanh(2.0 / 5);
  const double sum = std::exp(capped_8) + std::exp(capped_2);
  AttentionTrap& capped = traps.add(
      "R5: a masked key stays masked under a soft cap of the scaled score", scores,
      {1, (std::exp(capped_8) + 1000 * std::exp(capped_2)) / sum}, {capped_8, std::log(sum)});
  capped.step.variant.scale = 2;
  capped.step.variant.logit_softcap = 5;

  // Query at position 1, slope 1/2: key 0 is one away, so its bias is −1/2, after the cap.
  Recipe decode = scores;
  decode.requests = {{1, 2}};
  const double biased_8 = capped_8 - 0.5;
  const double biased_sum = std::exp(biased_8) + std::exp(capped_2);
  AttentionTrap& biased = traps.add("R5: the bias is added after the soft cap", decode,
                                    {(std::exp(biased_8) + 1000 * std::exp(capped_2)) / biased_sum},
                                    {std::log(biased_sum)});
  biased.step.variant.scale = 2;
  biased.step.variant.logit_softcap = 5;
  biased.step.variant.alibi_slopes = {0.5f};
}

void add_heads(Traps& traps) {
  Recipe groups;
  groups.requests = {{1, 3}};
  groups.num_query_heads = 4;
  groups.num_kv_heads = 2;
  groups.head_size = 4;
  groups.value = [](std::int64_t, std::int64_t, std::int64_t kv_head_idx, std::int64_t) {
    return static_cast<double>(kv_head_idx + 1);
  };
  const double ln3 = std::log(3.0);
  traps
      .add("R6: query head h reads KV head h / group size", groups, {1, 1, 2, 2},
           {ln3, ln3, ln3, ln3})
      .is_exact = true;

  // Two requests, three heads, five tokens: no number is a multiple of another. Each query sees
  // only itself, so the output names its request, head and position.
  Recipe all_differ;
  all_differ.requests = {{5, 5}, {5, 5}};
  all_differ.num_query_heads = 3;
  all_differ.num_kv_heads = 3;
  all_differ.value = [](std::int64_t req_idx, std::int64_t position, std::int64_t head_idx,
                        std::int64_t) {
    return static_cast<double>(100 * req_idx + 10 * head_idx + position);
  };
  std::vector<double> outputs;
  for (int req_idx = 0; req_idx < 2; ++req_idx) {
    for (int position = 0; position < 5; ++position) {
      for (int head_idx = 0; head_idx < 3; ++head_idx) {
        outputs.push_back(100 * req_idx + 10 * head_idx + position);
      }
    }
  }
  AttentionTrap& trap = traps.add("K15: request and head and token are never taken for each other",
                                  all_differ, outputs, std::vector<double>(30, 0.0));
  trap.step.variant.visibility.window_left = 0;
  trap.is_exact = true;
}

void add_windows(Traps& traps) {
  Recipe four_keys;
  four_keys.requests = {{1, 6}};
  AttentionTrap& window = traps.add("R7: a window of 4 is 4 keys and one of them the query's own",
                                    four_keys, {3.5}, {std::log(4.0)});
  window.step.variant.visibility.window_left = 3;
  window.is_exact = true;

  Recipe partly_filled;
  partly_filled.requests = {{1, 9}};
  partly_filled.unused_slots = 1e6;
  AttentionTrap& eight_keys = traps.add("R8: a window reads no unused slot of the last block",
                                        partly_filled, {4.5}, {std::log(8.0)});
  eight_keys.step.variant.visibility.window_left = 7;
  eight_keys.is_exact = true;

  Recipe tenth;
  tenth.requests = {{1, 10}};
  AttentionTrap& example = traps.add("the query at position 9 sees keys 6 to 9 of a window of 4",
                                     tenth, {7.5}, {std::log(4.0)});
  example.step.variant.visibility.window_left = 3;

  // Positions 0 to 4, |a − j| ≤ 1: means 0.5, 1, 2, 3, 3.5.
  Recipe both_sides;
  both_sides.requests = {{5, 5}};
  AttentionTrap& symmetric =
      traps.add("a symmetric window reaches as far ahead as back", both_sides, {0.5, 1, 2, 3, 3.5},
                {std::log(2.0), std::log(3.0), std::log(3.0), std::log(3.0), std::log(2.0)});
  symmetric.step.variant.visibility = {.causal = false, .window_left = 1, .window_right = 1};

  // Causal, but positions 1 to 3 see each other.
  AttentionTrap& range = traps.add("a prefix range shows its later keys and no others", both_sides,
                                   {0, 1.5, 1.5, 1.5, 2},
                                   {0, std::log(4.0), std::log(4.0), std::log(4.0), std::log(5.0)});
  range.step.variant.mm_prefix_ranges = {{0, 1, 3}, {-1, -1, -1}};

  // Queries at positions −2, −1, 0 with a look-ahead of one key: the first sees none.
  Recipe no_overlap;
  no_overlap.requests = {{3, 1}};
  no_overlap.value = by_position({7});
  AttentionTrap& ahead = traps.add("a window that reaches no key gives 0 and minus infinity",
                                   no_overlap, {0, 7, 7}, {-kInfinity, 0, 0});
  ahead.step.variant.visibility = {.causal = false, .window_left = 0, .window_right = 1};
  ahead.is_exact = true;
}

void add_sinks(Traps& traps) {
  Recipe no_keys;
  no_keys.requests = {{1, 0}};
  AttentionTrap& empty =
      traps.add("R10: a sink alone gives 0 and an LSE that is the sink", no_keys, {0}, {0.5});
  empty.step.variant.sinks = {0.5f};
  empty.is_exact = true;

  Recipe scores;
  scores.requests = {{1, 2}};
  scores.query = one;
  scores.key = by_position({1, 2});
  scores.value = one;
  const double below = std::exp(-99.0) + std::exp(-98.0);
  AttentionTrap& large = traps.add("R10: a large sink takes all the weight and nothing overflows",
                                   scores, {below / (1 + below)}, {100 + std::log1p(below)});
  large.step.variant.sinks = {100.0f};

  // Scores 1 and 2, sink 1.5: the weights of the keys sum to less than 1.
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(1.5);
  AttentionTrap& share = traps.add("a sink takes its share of the weight and adds no value", scores,
                                   {(std::exp(1.0) + std::exp(2.0)) / sum}, {std::log(sum)});
  share.step.variant.sinks = {1.5f};

  Recipe hidden;
  hidden.requests = {{3, 1}};
  hidden.num_query_heads = 2;
  hidden.value = by_position({4});
  AttentionTrap& masked =
      traps.add("a row without a visible key has the sink as its LSE", hidden, {0, 0, 0, 0, 2, 4},
                {0.0, 0.0, std::log(2.0), -kInfinity, -kInfinity, 0});
  masked.step.variant.sinks = {0.0f, -std::numeric_limits<float>::infinity()};
}

void add_lengths(Traps& traps) {
  // Blocks 5 and 2 were cached for somebody else; three tokens are new. As after a cold start, the
  // queries at 8, 9 and 10 see all keys up to their own.
  Recipe after_hit;
  after_hit.requests = {{3, 11}};
  after_hit.block_table = {{5, 2, 7}};
  after_hit.num_blocks = 8;
  traps.add("E11: a prefill after a prefix hit reads the hit through the block table", after_hit,
            {4, 4.5, 5}, {std::log(9.0), std::log(10.0), std::log(11.0)});

  Recipe ones;
  ones.requests = {{1, 257}, {1, 17}};
  ones.num_query_heads = 8;
  ones.num_kv_heads = 8;
  ones.head_size = 128;
  ones.block_size = 16;
  ones.value = one;
  std::vector<double> lses;
  for (int head_idx = 0; head_idx < 8; ++head_idx) {
    lses.push_back(std::log(257.0));
    lses.push_back(std::log(17.0));
  }
  AttentionTrap& decode = traps.add("K8: no lane past the end of a sequence is in the denominator",
                                    ones, std::vector<double>(16, 1.0), lses);
  decode.step.variant.visibility.causal = false;
  decode.is_exact = true;

  Recipe one_block;
  one_block.requests = {{1, 256}, {1, 257}};
  one_block.block_size = 256;
  traps
      .add("K9: a block of 256 is read to its last token and the next one too", one_block,
           {127.5, 128.0}, {std::log(256.0), std::log(257.0)})
      .is_exact = true;

  for (std::int32_t seq_len : {1, 5, 31, 32, 33}) {
    Recipe tile;
    tile.requests = {{1, seq_len}};
    tile.block_size = 32;
    traps
        .add("K14: " + std::to_string(seq_len) + " keys under a tile of 32", tile,
             {(seq_len - 1) / 2.0}, {std::log(static_cast<double>(seq_len))})
        .is_exact = true;
  }
}

void add_fp8(Traps& traps) {
  // True keys 2 and 0, true values 3 and 1, stored divided by 1/2 and 1/4.
  Recipe scaled;
  scaled.requests = {{1, 2}};
  scaled.query = one;
  scaled.key = by_position({2, 0});
  scaled.value = by_position({3, 1});
  const double weight = std::exp(2.0) / (std::exp(2.0) + 1);
  AttentionTrap& trap = traps.add("K18: fp8 scales of keys and values are each applied once",
                                  scaled, {1 + 2 * weight}, {std::log(std::exp(2.0) + 1)});
  // The step stores the second token itself. The first is in the cache already, as codes of
  // 2 / (1/2) = 4 and 3 / (1/4) = 12.
  KvCacheSpec spec = trap.step.cache.spec();
  spec.dtype = DType::kFp8E4M3;
  KvCache cache(spec);
  const Tensor keys = trap.step.cache.keys();
  const Tensor values = trap.step.cache.values();
  Tensor stored_keys(DType::kFloat64, keys.shape());
  Tensor stored_values(DType::kFloat64, values.shape());
  for (std::int64_t index = 0; index < keys.size(); ++index) {
    stored_keys.data<double>()[index] = keys.value(index) / 0.5;
    stored_values.data<double>()[index] = values.value(index) / 0.25;
  }
  cache.assign(convert(stored_keys, spec.dtype), convert(stored_values, spec.dtype));
  cache.k_scale = {0.5f};
  cache.v_scale = {0.25f};
  trap.step.cache = cache;
}

void add_encoders(Traps& traps) {
  Recipe own_tokens;
  own_tokens.requests = {{3, 3}, {0, 0}, {2, 2}};
  AttentionTrap& encoder = traps.add(
      "encoder_only sees all of its own request's tokens", own_tokens, {1, 1, 1, 0.5, 0.5},
      {std::log(3.0), std::log(3.0), std::log(3.0), std::log(2.0), std::log(2.0)});
  encoder.step.variant.attn_type = AttnType::kEncoderOnly;
  encoder.step.variant.visibility.causal = false;

  // The first request has no encoder output; the second's queries all see 6 tokens.
  Recipe cross;
  cross.requests = {{1, 0}, {2, 6}};
  AttentionTrap& encoder_decoder =
      traps.add("encoder_decoder sees every encoder token from every query", cross, {0, 2.5, 2.5},
                {-kInfinity, std::log(6.0), std::log(6.0)});
  encoder_decoder.step.variant.attn_type = AttnType::kEncoderDecoder;
  encoder_decoder.step.variant.visibility.causal = false;
}

}  // namespace

std::vector<AttentionTrap> attention_traps() {
  Traps traps;
  add_masks(traps);
  add_score_order(traps);
  add_heads(traps);
  add_windows(traps);
  add_sinks(traps);
  add_lengths(traps);
  add_fp8(traps);
  add_encoders(traps);
  return traps.take();
}

std::vector<AttentionTwins> attention_twins() {
  // Numbers without a pattern, the same wherever the blocks lie.
  const auto numbers = [](double phase) {
    return [phase](std::int64_t req_idx, std::int64_t position, std::int64_t head_idx,
                   std::int64_t element) {
      return std::sin(phase + 7.0 * req_idx + 3.0 * position + 2.0 * head_idx + 1.3 * element);
    };
  };
  Recipe recipe;
  recipe.query = numbers(0.1);
  recipe.key = numbers(0.5);
  recipe.value = numbers(0.9);
  std::vector<AttentionTwins> twins;

  Recipe poisoned = recipe;
  poisoned.requests = {{1, 1}, {1, 3}};
  poisoned.head_size = 64;
  poisoned.dtype = DType::kFloat16;
  Recipe clean = poisoned;
  clean.unused_slots = 0.0;
  twins.push_back({"K4: NaN in unused slots changes no bit", step_of(poisoned), step_of(clean)});

  Recipe pool = recipe;
  pool.requests = {{2, 7}};
  pool.head_size = 2;
  pool.block_size = 2;
  pool.num_blocks = 4;
  AttentionStep interleaved = step_of(pool);
  interleaved.cache =
      interleaved.cache.with_layout({KvOrder::kNHD, KvPacking::kInterleavedByBlock});
  twins.push_back({"K13: keys and values interleaved by block or apart give the same bits",
                   step_of(pool), interleaved});

  Recipe in_order = recipe;
  in_order.requests = {{1, 40}};
  in_order.head_size = 5;
  in_order.block_size = 16;
  in_order.num_blocks = 8;
  in_order.block_table = {{0, 1, 2}};
  Recipe shuffled = in_order;
  shuffled.block_table = {{7, 3, 5}};
  twins.push_back(
      {"K17: the place of the blocks changes no bit", step_of(in_order), step_of(shuffled)});
  return twins;
}

}  // namespace pagelab::test
