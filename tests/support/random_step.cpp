#include "tests/support/random_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pagelab::test {
namespace {

constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

// A float tensor that can be written by value, whatever its type.
void set(Tensor& tensor, std::int64_t index, double value) {
  visit_float_dtype(tensor.dtype(),
                    [&]<typename T>(T) { tensor.data<T>()[index] = store_as<T>(value); });
}

Tensor filled(DType dtype, const Shape& shape, Random& random, double amplitude) {
  Tensor tensor(dtype, shape);
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    set(tensor, index, random.real(-amplitude, amplitude));
  }
  return tensor;
}

void poison_row(Tensor& tensor, std::int64_t row) {
  const std::int64_t row_size = tensor.shape()[1] * tensor.shape()[2];
  for (std::int64_t element = 0; element < row_size; ++element) {
    set(tensor, row * row_size + element, kPoison);
  }
}

std::int32_t query_len_of(BatchKind kind, std::int32_t seq_len, Random& random) {
  if (seq_len == 0) return 0;
  switch (kind) {
    case BatchKind::kDecode:
      return 1;
    case BatchKind::kPrefill:
      return seq_len;
    case BatchKind::kChunked:
      return static_cast<std::int32_t>(random.whole(1, seq_len));
    case BatchKind::kMixed:
      break;
  }
  const BatchKind kinds[] = {BatchKind::kDecode, BatchKind::kPrefill, BatchKind::kChunked};
  return query_len_of(kinds[random.whole(0, 2)], seq_len, random);
}

void insert_anywhere(std::vector<RequestLens>& requests, RequestLens lens, Random& random) {
  const std::int64_t place = random.whole(0, static_cast<std::int64_t>(requests.size()));
  requests.insert(requests.begin() + place, lens);
}

std::vector<RequestLens> draw_requests(const RandomStepOptions& options, Random& random) {
  std::vector<RequestLens> requests = options.requests;
  const auto draw_seq_len = [&] {
    return static_cast<std::int32_t>(random.whole(options.min_seq_len, options.max_seq_len));
  };
  if (requests.empty()) {
    for (std::int64_t count = 0; count < options.num_reqs; ++count) {
      const std::int32_t seq_len = draw_seq_len();
      requests.push_back({query_len_of(options.kind, seq_len, random), seq_len});
    }
  }
  for (RequestLens& lens : requests) {
    if (options.query_excess > 0) {
      lens.query_len =
          lens.seq_len + static_cast<std::int32_t>(random.whole(1, options.query_excess));
    }
    if (options.attn_type == AttnType::kEncoderOnly) lens.query_len = lens.seq_len;
  }
  for (std::int64_t count = 0; count < options.num_empty_reqs; ++count) {
    insert_anywhere(requests, {0, 0}, random);
  }
  const bool idle_has_keys = options.attn_type != AttnType::kEncoderOnly;
  for (std::int64_t count = 0; count < options.num_idle_reqs; ++count) {
    insert_anywhere(requests, {0, idle_has_keys ? draw_seq_len() : 0}, random);
  }
  return requests;
}

// Whether this step stores its tokens at all.
bool stores_tokens(const RandomStepOptions& options) {
  return options.query_excess == 0 && options.attn_type != AttnType::kEncoderDecoder &&
         !options.without_cache;
}

// Leading blocks of a request that are full before this step, and so may be shared.
std::int64_t shareable_blocks(const RandomStepOptions& options, const RequestLens& lens) {
  const std::int64_t stored = stores_tokens(options) ? lens.query_len : 0;
  const std::int64_t context_len = lens.seq_len - stored;
  return std::min(options.shared_prefix_blocks, context_len / options.block_size);
}

// Shuffled blocks for every request; returns the number of blocks in the pool.
std::int64_t deal_blocks(const RandomStepOptions& options,
                         const std::vector<RequestLens>& requests,
                         Random& random,
                         BlockTable& table) {
  table.num_reqs = static_cast<std::int64_t>(requests.size());
  if (options.without_cache) return 0;
  std::int64_t needed = options.shared_prefix_blocks;
  std::int64_t widest = 0;
  for (const RequestLens& lens : requests) {
    const std::int64_t blocks = blocks_for_tokens(lens.seq_len, options.block_size);
    needed += blocks - shareable_blocks(options, lens);
    widest = std::max(widest, blocks);
  }
  const std::int64_t num_blocks = needed + options.spare_blocks;
  const std::vector<std::int32_t> pool = random.permutation(num_blocks);

  table.max_blocks_per_req = widest + options.spare_table_columns;
  table.entries.assign(table.num_reqs * table.max_blocks_per_req, kNoBlock);
  std::int64_t next = options.shared_prefix_blocks;  // pool[0 … shared) is the shared prefix
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    std::int32_t* row = table.entries.data() + req_idx * table.max_blocks_per_req;
    const std::int64_t blocks = blocks_for_tokens(requests[req_idx].seq_len, options.block_size);
    const std::int64_t shared = shareable_blocks(options, requests[req_idx]);
    for (std::int64_t column = 0; column < table.max_blocks_per_req; ++column) {
      if (column < shared) {
        row[column] = pool[column];
      } else if (column < blocks) {
        row[column] = pool[next++];
      } else if (options.stale_table_entries) {
        row[column] = static_cast<std::int32_t>(random.bits());
      }
    }
  }
  return num_blocks;
}

CommonAttentionMetadata make_metadata(const RandomStepOptions& options,
                                      const std::vector<RequestLens>& requests,
                                      BlockTable table,
                                      Random& random) {
  CommonAttentionMetadata metadata;
  metadata.block_table = std::move(table);
  for (std::size_t req_idx = 0; req_idx < requests.size(); ++req_idx) {
    const RequestLens lens = requests[req_idx];
    const std::int32_t* row =
        metadata.block_table.entries.data() + req_idx * metadata.block_table.max_blocks_per_req;
    metadata.query_start_loc.push_back(metadata.query_start_loc.back() + lens.query_len);
    metadata.seq_lens.push_back(lens.seq_len);
    for (std::int32_t query_idx = 0; query_idx < lens.query_len; ++query_idx) {
      const bool stored = stores_tokens(options) && random.whole(1, 100) > options.unstored_percent;
      const std::int64_t position = lens.seq_len - lens.query_len + query_idx;
      metadata.slot_mapping.push_back(stored ? std::int64_t{row[position / options.block_size]} *
                                                       options.block_size +
                                                   position % options.block_size
                                             : kNoSlot);
    }
  }
  metadata.slot_mapping.resize(metadata.slot_mapping.size() + options.padding_rows, kNoSlot);
  return metadata;
}

std::vector<float> draw_scales(const RandomStepOptions& options,
                               DType cache_dtype,
                               Random& random) {
  if (!is_fp8(cache_dtype)) return {1.0f};
  std::vector<float> scales(options.scales_per_head ? options.num_kv_heads : 1);
  // Not powers of two, so that a dropped, swapped or doubled scale shows.
  for (float& scale : scales) scale = static_cast<float>(random.real(0.1, 0.9));
  return scales;
}

// One side of the cache in the logical order: NaN, but for the tokens that lie there already.
Tensor cached_tokens(const RandomStepOptions& options,
                     const KvCacheSpec& spec,
                     std::int64_t size,
                     const std::vector<float>& scales,
                     const CommonAttentionMetadata& metadata,
                     Random& random) {
  Tensor tokens(spec.dtype, {spec.num_blocks, spec.block_size, spec.num_kv_heads, size});
  for (std::int64_t index = 0; index < tokens.size(); ++index) set(tokens, index, kPoison);

  std::vector<std::int64_t> to_be_written = metadata.slot_mapping;
  std::sort(to_be_written.begin(), to_be_written.end());
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int32_t* row =
        metadata.block_table.entries.data() + req_idx * metadata.block_table.max_blocks_per_req;
    const std::int64_t num_cached = spec.num_blocks == 0 ? 0 : metadata.seq_lens[req_idx];
    for (std::int64_t position = 0; position < num_cached; ++position) {
      const std::int64_t slot =
          row[position / spec.block_size] * spec.block_size + position % spec.block_size;
      if (std::binary_search(to_be_written.begin(), to_be_written.end(), slot)) continue;
      for (std::int64_t head = 0; head < spec.num_kv_heads; ++head) {
        const float scale = scales.size() == 1 ? scales[0] : scales[head];
        for (std::int64_t element = 0; element < size; ++element) {
          const double value = random.real(-options.amplitude, options.amplitude);
          set(tokens, (slot * spec.num_kv_heads + head) * size + element, value / scale);
        }
      }
    }
  }
  return tokens;
}

// Up to two ranges a request, apart from each other, the last one perhaps past the sequence; some
// one-position rows, and two rows of padding.
std::vector<MmPrefixRange> draw_ranges(const CommonAttentionMetadata& metadata, Random& random) {
  std::vector<MmPrefixRange> ranges = {{-1, -1, -1}};
  for (std::int32_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t seq_len = metadata.seq_lens[req_idx];
    if (seq_len < 4) continue;
    const std::int64_t first = random.whole(0, seq_len / 2 - 1);
    const std::int64_t last = random.whole(first, seq_len / 2);
    const std::int64_t second = random.whole(last + 1, seq_len - 1);
    const std::int64_t second_last = random.whole(second, seq_len + 1);
    ranges.push_back(
        {req_idx, static_cast<std::int32_t>(second), static_cast<std::int32_t>(second_last)});
    ranges.push_back({req_idx, static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});
  }
  ranges.push_back({0, 0, 0});
  return ranges;
}

AttentionVariant make_variant(const RandomStepOptions& options,
                              const CommonAttentionMetadata& metadata,
                              Random& random) {
  AttentionVariant variant;
  variant.attn_type = options.attn_type;
  variant.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(options.head_size)));
  variant.visibility.causal = options.causal && options.attn_type == AttnType::kDecoder;
  variant.visibility.window_left = options.window_left;
  variant.visibility.window_right = options.window_right;
  variant.logit_softcap = options.logit_softcap;
  for (std::int64_t head = 0; head < options.num_query_heads; ++head) {
    if (options.alibi) variant.alibi_slopes.push_back(static_cast<float>(random.real(0.01, 0.7)));
    if (options.sinks) variant.sinks.push_back(static_cast<float>(random.real(-1.0, 2.0)));
  }
  if (options.sinks && options.num_query_heads > 1) {
    variant.sinks[random.whole(0, options.num_query_heads - 1)] =
        -std::numeric_limits<float>::infinity();
  }
  if (options.mm_prefix) variant.mm_prefix_ranges = draw_ranges(metadata, random);
  return variant;
}

void require_sense(const RandomStepOptions& options) {
  const bool encoder_only = options.attn_type == AttnType::kEncoderOnly;
  const bool encoder_decoder = options.attn_type == AttnType::kEncoderDecoder;
  const bool has_window = options.window_left != kUnbounded || options.window_right != kUnbounded;
  if (options.num_query_heads % options.num_kv_heads != 0) {
    throw Error("random_step: num_query_heads must be a multiple of num_kv_heads.");
  }
  if (options.without_cache && !encoder_only) {
    throw Error("random_step: only an encoder_only step may be without a cache.");
  }
  if (options.query_excess > 0 && encoder_only) {
    throw Error("random_step: an encoder_only query is as long as its sequence.");
  }
  if (encoder_decoder && (has_window || options.alibi || options.mm_prefix)) {
    throw Error("random_step: encoder_decoder has no positions, so no window, ALiBi or ranges.");
  }
}

}  // namespace

std::int64_t Random::whole(std::int64_t first, std::int64_t last) {
  if (last < first) throw Error("Random::whole: the last number is below the first.");
  const std::uint64_t count = static_cast<std::uint64_t>(last - first) + 1;
  return first + static_cast<std::int64_t>(bits() % count);
}

double Random::real(double low, double high) {
  const double unit = static_cast<double>(bits() >> 11) * 0x1p-53;
  return low + unit * (high - low);
}

std::vector<std::int32_t> Random::permutation(std::int64_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::int64_t index = 0; index < count; ++index) {
    numbers[index] = static_cast<std::int32_t>(index);
  }
  for (std::int64_t index = count - 1; index > 0; --index) {
    std::swap(numbers[index], numbers[whole(0, index)]);
  }
  return numbers;
}

AttentionStep random_step(const RandomStepOptions& options, std::uint64_t seed) {
  require_sense(options);
  Random random(seed);
  const std::vector<RequestLens> requests = draw_requests(options, random);
  KvCacheSpec spec;
  spec.block_size = options.block_size;
  spec.num_kv_heads = options.num_kv_heads;
  spec.head_size = options.head_size;
  spec.head_size_v = options.head_size_v;
  spec.dtype = options.kv_cache_dtype.value_or(options.dtype);

  AttentionStep step;
  BlockTable table;
  spec.num_blocks = deal_blocks(options, requests, random, table);
  step.metadata = make_metadata(options, requests, std::move(table), random);
  step.variant = make_variant(options, step.metadata, random);

  const std::int64_t num_tokens = static_cast<std::int64_t>(step.metadata.slot_mapping.size());
  const Shape query_shape = {num_tokens, options.num_query_heads, options.head_size};
  const Shape key_shape = {num_tokens, options.num_kv_heads, options.head_size};
  const Shape value_shape = {num_tokens, options.num_kv_heads, options.head_size_v};
  step.query = filled(options.dtype, query_shape, random, options.amplitude);
  step.key = filled(options.dtype, key_shape, random, options.amplitude);
  step.value = filled(options.dtype, value_shape, random, options.amplitude);
  for (std::int64_t token_idx = 0; token_idx < num_tokens; ++token_idx) {
    const bool is_padding = token_idx >= step.metadata.num_actual_tokens();
    const bool is_read = !is_padding && options.attn_type == AttnType::kEncoderOnly;
    if (is_padding) poison_row(step.query, token_idx);
    if (step.metadata.slot_mapping[token_idx] == kNoSlot && !is_read) {
      poison_row(step.key, token_idx);
      poison_row(step.value, token_idx);
    }
  }

  spec.layout = options.layout;
  step.cache = KvCache(spec);
  step.cache.k_scale = draw_scales(options, spec.dtype, random);
  step.cache.v_scale = draw_scales(options, spec.dtype, random);
  const Tensor keys =
      cached_tokens(options, spec, spec.head_size, step.cache.k_scale, step.metadata, random);
  const Tensor values =
      cached_tokens(options, spec, spec.head_size_v, step.cache.v_scale, step.metadata, random);
  step.cache.assign(keys, values);
  return step;
}

}  // namespace pagelab::test
