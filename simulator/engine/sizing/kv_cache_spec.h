/// \file
/// What one layer keeps of a request, and how many bytes a block of it takes. Layers differ (heads, windows,
/// latents, recurrent states), but the engine hands out blocks of one pool: so the sizes of their pages must agree,
/// or be made to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/tensor/dtype.h"

namespace pagelab {

/// What a layer keeps. vLLM has a class for each: FullAttentionSpec, SlidingWindowSpec, MLAAttentionSpec, MambaSpec.
enum class KVCacheKind : std::uint8_t {
  kFullAttention,  ///< keys and values of all tokens
  kSlidingWindow,  ///< keys and values of the last tokens
  kMla,            ///< one latent vector a token, for all heads
  kMamba,          ///< recurrent states, one set a request
};

/// One array of a recurrent state.
struct MambaState {
  std::vector<std::int64_t> shape;  ///< elements
  DType dtype = DType::kBFloat16;   ///< of an element
};

/// What one layer keeps.
/// \source vLLM v1/kv_cache_interface.py, KVCacheSpec
struct KVCacheSpec {
  KVCacheKind kind = KVCacheKind::kFullAttention;  ///< what
  std::int64_t block_size = 16;                    ///< tokens a block
  std::int64_t num_kv_heads = 1;                   ///< KV heads; MLA: 1
  std::int64_t head_size = 128;                    ///< elements of a key; MLA: of the latent
  std::int64_t head_size_v = 128;                  ///< elements of a value; MLA: 0
  DType dtype = DType::kBFloat16;                  ///< of an element
  std::int64_t sliding_window = 0;  ///< tokens that a query sees; kSlidingWindow alone
  std::optional<std::int64_t> state_content_bytes = {};  ///< bytes of a token in a packed format
  std::optional<std::int64_t> alignment = {};         ///< a page is rounded up to a multiple of it
  std::optional<std::int64_t> page_size_padded = {};  ///< a page is enlarged to this
  std::vector<MambaState> mamba_states = {};          ///< kMamba alone
};

/// Bytes of a block's content. \throws Error if a number is below 1
std::int64_t real_page_size_bytes(const KVCacheSpec& spec);
/// Bytes of a block as it lies in memory: aligned, or enlarged. \throws Error if it is smaller than its content
std::int64_t page_size_bytes(const KVCacheSpec& spec);

/// A format that packs a token's latent and its scales into bytes.
struct PackedLatent {
  std::string name;                            ///< as a cache dtype: "fp8_ds_mla"
  std::int64_t bytes_per_token = 0;            ///< all of it
  std::optional<std::int64_t> alignment = {};  ///< of a page
};

/// The packed formats. fp8_ds_mla: 512 fp8 elements, 4 float32 scales and 64 bf16 elements.
const std::vector<PackedLatent>& packed_latents();

/// Layers whose specs differ in their sizes alone: they share blocks of tokens, and a block holds a page of each.
/// \source vLLM v1/kv_cache_interface.py, UniformTypeKVCacheSpecs
struct UniformTypeKVCacheSpecs {
  std::vector<KVCacheSpec> kv_cache_specs;  ///< a spec a layer

  /// Whether these layers can share: the same kind, block size and window.
  static bool is_uniform_type(const std::vector<KVCacheSpec>& specs);
  /// Bytes of a block: the sum of the layers' pages.
  std::int64_t page_size_bytes() const;
};

/// Makes the pages of all layers as large as the largest, so that any block can serve any layer: a recurrent state is
/// padded; an attention page that fits several times gets that many times the tokens; another one is padded.
/// \returns  the specs in the same order; none if a latent's page would have to be padded
/// \source   vLLM v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size
std::optional<std::vector<KVCacheSpec>> unify_page_sizes(const std::vector<KVCacheSpec>& specs);

/// The most blocks that a request of a windowed layer holds while it is admitted: those of the window and of the
/// tokens in flight, and one more because neither begins at a block's start.
/// \param spec                  of a windowed layer
/// \param max_in_flight_tokens  concurrent batches · max_num_batched_tokens
/// \param max_model_len         tokens of the longest request
/// \throws Error                if the layer has no window, or a number is below 1
/// \source                      vLLM v1/kv_cache_interface.py, SlidingWindowSpec.max_admission_blocks_per_request
std::int64_t max_admission_blocks_per_request(const KVCacheSpec& spec,
                                              std::int64_t max_in_flight_tokens,
                                              std::int64_t max_model_len);

}  // namespace pagelab
