#include "simulator/engine/sizing/kv_cache_spec.h"

#include <algorithm>

#include "reference/cache/block_table.h"
#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

// With these, no page leaves an int64.
constexpr std::int64_t kMostElements = 1'000'000'000'000;
constexpr std::int64_t kMostHeads = 10'000;

std::int64_t bytes_of_states(const std::vector<MambaState>& states) {
  if (states.empty()) refuse("a Mamba layer has no states; it needs at least one.");
  std::int64_t bytes = 0;
  for (const MambaState& state : states) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : state.shape) {
      require_in_range("an extent of a Mamba state", extent, 1);
      elements *= extent;
      require_in_range("the number of elements of a Mamba state", elements, 1, kMostElements);
    }
    bytes += elements * bytes_of(state.dtype);
  }
  return bytes;
}

std::int64_t bytes_of_token(const KVCacheSpec& spec) {
  if (spec.state_content_bytes) {
    require_in_range("state_content_bytes", *spec.state_content_bytes, 1);
    return *spec.state_content_bytes;
  }
  require_in_range("head_size", spec.head_size, 1);
  const bool has_values = spec.kind != KVCacheKind::kMla;
  if (has_values) require_in_range("head_size_v", spec.head_size_v, 1);
  const std::int64_t elements = spec.head_size + (has_values ? spec.head_size_v : 0);
  return elements * bytes_of(spec.dtype);
}

// The page of a block that holds so many times the tokens; none if it does not come out as large as that.
std::optional<KVCacheSpec> with_longer_blocks(const KVCacheSpec& spec, std::int64_t page_size) {
  KVCacheSpec longer = spec;
  longer.block_size *= page_size / page_size_bytes(spec);
  if (page_size_bytes(longer) != page_size) return std::nullopt;
  return longer;
}

std::optional<KVCacheSpec> with_page_size(const KVCacheSpec& spec, std::int64_t page_size) {
  const std::int64_t own = page_size_bytes(spec);
  if (own == page_size) return spec;
  KVCacheSpec padded = spec;
  padded.page_size_padded = page_size;
  if (spec.kind == KVCacheKind::kMamba) return padded;
  if (page_size % own == 0) return with_longer_blocks(spec, page_size);
  // A latent's page is never padded.
  if (spec.kind == KVCacheKind::kMla) return std::nullopt;
  return padded;
}

}  // namespace

std::int64_t real_page_size_bytes(const KVCacheSpec& spec) {
  require_in_range("block_size", spec.block_size, 1);
  if (spec.kind == KVCacheKind::kMamba) return bytes_of_states(spec.mamba_states);
  const std::int64_t num_heads = spec.kind == KVCacheKind::kMla ? 1 : spec.num_kv_heads;
  require_in_range("num_kv_heads", num_heads, 1, kMostHeads);
  return num_heads * spec.block_size * bytes_of_token(spec);
}

std::int64_t page_size_bytes(const KVCacheSpec& spec) {
  const std::int64_t content = real_page_size_bytes(spec);
  if (spec.page_size_padded) {
    if (*spec.page_size_padded < content) {
      refuse("page_size_padded is {}, but a block's content has {} bytes.", *spec.page_size_padded,
             content);
    }
    return *spec.page_size_padded;
  }
  if (!spec.alignment) return content;
  require_in_range("alignment", *spec.alignment, 1);
  return (content + *spec.alignment - 1) / *spec.alignment * *spec.alignment;
}

const std::vector<PackedLatent>& packed_latents() {
  static const std::vector<PackedLatent> kFormats = {
      {"fp8_ds_mla", 656, {}},
      {"nvfp4_ds_mla", 352, {}},
      {"fp8_ds_mla of DeepSeek V4", 584, 576},
      {"fp8_ds_mla of DeepSeek V4.1", 528, 512},
  };
  return kFormats;
}

bool UniformTypeKVCacheSpecs::is_uniform_type(const std::vector<KVCacheSpec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [&specs](const KVCacheSpec& spec) {
    const KVCacheSpec& first = specs.front();
    return spec.kind == first.kind && spec.block_size == first.block_size &&
           spec.sliding_window == first.sliding_window;
  });
}

std::int64_t UniformTypeKVCacheSpecs::page_size_bytes() const {
  std::int64_t bytes = 0;
  for (const KVCacheSpec& spec : kv_cache_specs) bytes += pagelab::page_size_bytes(spec);
  return bytes;
}

std::optional<std::vector<KVCacheSpec>> unify_page_sizes(const std::vector<KVCacheSpec>& specs) {
  std::int64_t largest = 0;
  for (const KVCacheSpec& spec : specs) largest = std::max(largest, page_size_bytes(spec));
  std::vector<KVCacheSpec> unified;
  for (const KVCacheSpec& spec : specs) {
    const std::optional<KVCacheSpec> resized = with_page_size(spec, largest);
    if (!resized) return std::nullopt;
    unified.push_back(*resized);
  }
  return unified;
}

std::int64_t max_admission_blocks_per_request(const KVCacheSpec& spec,
                                              std::int64_t max_in_flight_tokens,
                                              std::int64_t max_model_len) {
  require_in_range("block_size", spec.block_size, 1);
  require_in_range("sliding_window", spec.sliding_window, 1);
  require_in_range("max_in_flight_tokens", max_in_flight_tokens, 1, kMostTokens);
  require_in_range("max_model_len", max_model_len, 1, kMostTokens);
  const std::int64_t num_tokens =
      std::min(spec.sliding_window - 1 + max_in_flight_tokens, max_model_len);
  return blocks_for_tokens(num_tokens, spec.block_size) + 1;
}

}  // namespace pagelab
