#include "reference/registry/flash_attn_version.h"

#include <algorithm>

#include "reference/registry/kv_cache_dtypes.h"

namespace pagelab {
namespace {

constexpr DeviceCapability kAmpere = {8, 0};
constexpr std::int64_t kWidestHeadOfVersion3 = 256;
constexpr std::int64_t kHd256BlockMultiple = 128;

bool is_datacenter_blackwell_or_thor(int major) { return major == 10 || major == 11; }

// The version that the GPU's generation prefers.
int preferred_version(const SelectionQuestion& question) {
  const int major = question.capability.major;
  if (major == 9 && is_flash_attn_version_supported(question, 3)) return 3;
  if (major == 10 && is_flash_attn_version_supported(question, 4)) return 4;
  return 2;
}

// On Hopper, what version 3 lacks.
bool hopper_needs_version_4(const SelectionQuestion& question, const FlashAttnLayer& layer) {
  const bool wide_head = layer.head_size && *layer.head_size > kWidestHeadOfVersion3;
  const bool sinks_with_other_value_head = layer.has_sinks && layer.head_size &&
                                           layer.head_size_v &&
                                           *layer.head_size != *layer.head_size_v;
  const bool diffusion = question.model && question.model->is_diffusion;
  return wide_head || sinks_with_other_value_head || diffusion;
}

bool is_square_head(const FlashAttnLayer& layer, std::int64_t head_size) {
  return layer.head_size == head_size && layer.head_size_v.value_or(head_size) == head_size;
}

// Version 4's kernel for heads of 256 is a special one, without these features.
bool can_use_hd256_kernel(const SelectionQuestion& question, const FlashAttnLayer& layer) {
  if (!layer.supports_fa4_hd256 || layer.has_sinks) return false;
  if (is_quantized_kv_cache(question.config.kv_cache_dtype)) return false;
  if (layer.kv_cache_block_size && *layer.kv_cache_block_size % kHd256BlockMultiple != 0) {
    return false;
  }
  if (question.config.use_dcp) return false;
  if (!question.model) return true;
  const ModelConfig& model = *question.model;
  return model.attn_logit_softcapping.value_or(0) == 0 && !model.is_mm_prefix_lm &&
         !model.has_rswa_window;
}

// On Blackwell, version 4 has kernels for heads up to 128, for 256, and for MLA's prefill (192 and
// 128).
bool blackwell_version_4_has_head(const FlashAttnLayer& layer) {
  if (!layer.head_size || *layer.head_size <= 128) return true;
  if (is_square_head(layer, 256)) return true;
  return layer.head_size == 192 && layer.head_size_v == 128;
}

}  // namespace

bool is_flash_attn_version_supported(const SelectionQuestion& question, int version) {
  const std::vector<int>& builds = question.environment.flash_attn_builds;
  if (std::find(builds.begin(), builds.end(), version) == builds.end()) return false;
  const DeviceCapability capability = question.capability;
  switch (version) {
    case 2:
      return capability >= kAmpere;
    case 3:
      return capability.major == 9;
    case 4:
      return capability.major >= 9 && capability.major <= 11;
    default:
      return false;
  }
}

std::optional<int> flash_attn_version(const SelectionQuestion& question,
                                      const FlashAttnLayer& layer) {
  const int major = question.capability.major;
  const bool has_version_4 = is_flash_attn_version_supported(question, 4);
  int version = question.environment.flash_attn_version.value_or(preferred_version(question));

  // Version 3 is for Hopper alone.
  if (version == 3 && major >= 10) version = has_version_4 ? 4 : 2;
  if (version == 3 && major == 9 && has_version_4 && hopper_needs_version_4(question, layer)) {
    version = 4;
  }

  // Version 4 does not promise the same bits in every batch.
  if (version == 4 && question.config.use_batch_invariant) version = 2;
  if (version == 4 && is_datacenter_blackwell_or_thor(major) && is_square_head(layer, 256) &&
      !can_use_hd256_kernel(question, layer)) {
    version = 2;
  }
  if (version == 4 && major >= 10 && !blackwell_version_4_has_head(layer)) version = 2;

  if (!is_flash_attn_version_supported(question, version)) return std::nullopt;
  return version;
}

bool flash_attn_reads_quantized_cache(const SelectionQuestion& question,
                                      const FlashAttnLayer& layer) {
  if (question.config.kv_cache_dtype == "fp8_e5m2") return false;
  const std::optional<int> version = flash_attn_version(question, layer);
  const int major = question.capability.major;
  if (major == 9 && version == 3) return true;
  if (major == 9 && version == 4) return layer.head_size.value_or(512) == 512;
  return major == 10 && version == 4;
}

bool flash_attn_supports_mla(const SelectionQuestion& question) {
  return question.capability.major == 9 && is_flash_attn_version_supported(question, 3);
}

}  // namespace pagelab
