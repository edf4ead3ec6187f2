/// \file
/// Which FlashAttention kernels a layer would get: 2, 3 or 4. Three backends ask.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/registry/selection_question.h"

namespace pagelab {

/// What the caller knows of the layer; what it leaves open changes nothing.
struct FlashAttnLayer {
  std::optional<std::int64_t> head_size = {};            ///< elements of a query and key head
  std::optional<std::int64_t> head_size_v = {};          ///< elements of a value head
  bool has_sinks = false;                                ///< attention sinks
  std::optional<std::int64_t> kv_cache_block_size = {};  ///< tokens
  bool supports_fa4_hd256 = false;  ///< the caller can use version 4's kernel for heads of 256
};

/// Whether a FlashAttention version is built and runs on this GPU.
/// \param question  read: the capability and the builds
/// \param version   2, 3 or 4
bool is_flash_attn_version_supported(const SelectionQuestion& question, int version);

/// The version, with its fallbacks; none if the one arrived at is not supported here.
/// \source vLLM v1/attention/backends/fa_utils.py, get_flash_attn_version
std::optional<int> flash_attn_version(const SelectionQuestion& question,
                                      const FlashAttnLayer& layer = {});

/// Whether that version reads a quantised cache of the record's dtype.
/// \source vLLM v1/attention/backends/fa_utils.py, flash_attn_supports_kv_cache_dtype
bool flash_attn_reads_quantized_cache(const SelectionQuestion& question,
                                      const FlashAttnLayer& layer = {});

/// Whether FlashAttention's MLA kernels (version 3, Hopper) run here.
bool flash_attn_supports_mla(const SelectionQuestion& question);

}  // namespace pagelab
