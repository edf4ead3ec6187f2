/// \file
/// All that a choice of backend depends on, in one value. vLLM reads these from the platform, the
/// packages that can be imported and the run's settings, wherever they lie; here they are inputs, so
/// that selection is a pure function, and answers for a GPU that is not there.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/registry/selector_config.h"

namespace pagelab {

/// A GPU generation: 9.0 is Hopper. Ordered.
struct DeviceCapability {
  int major = 0;  ///< the generation: 8 Ampere and Ada, 9 Hopper, 10 and 12 Blackwell
  int minor = 0;  ///< the variant
  /// Major first, then minor.
  auto operator<=>(const DeviceCapability&) const = default;
};

/// What rules read of a model's configuration. An attribute that the model does not have is empty.
struct ModelConfig {
  std::int64_t head_size = 0;     ///< elements of a head, as the cache stores it
  std::int64_t num_heads = 0;     ///< query heads
  std::int64_t num_kv_heads = 0;  ///< KV heads
  bool is_diffusion = false;      ///< a diffusion language model
  bool is_mm_prefix_lm = false;   ///< some of its layers want prefix masks
  bool has_rswa_window = false;   ///< some of its layers want R-SWA
  std::optional<std::int64_t> qk_nope_head_dim = {};  ///< MLA: elements of a head without RoPE
  std::optional<std::int64_t> qk_rope_head_dim = {};  ///< MLA: elements of a head with RoPE
  std::optional<std::int64_t> v_head_dim = {};        ///< MLA: elements of a value head
  std::optional<std::int64_t> kv_lora_rank = {};      ///< MLA: width of the latent
  std::optional<std::int64_t> index_topk = {};        ///< keys that a sparse model's indexer keeps
  std::optional<double> attn_logit_softcapping = {};  ///< soft cap of the scores
};

/// Whether the b12x package can be used.
enum class B12xState : std::uint8_t { kSupported, kAbsent, kUnsupportedDevice };
/// Whether vLLM's build of FlashMLA can be used.
enum class FlashMlaState : std::uint8_t { kBuilt, kNoKernels, kNoExtension };
/// Whether FlashMLA's mega attention kernel can be used.
enum class MegaAttnState : std::uint8_t { kBuilt, kNoOps, kNoPermute };

/// What the platform says of an AMD GPU. Under CUDA, nothing.
struct RocmPlatform {
  bool is_rdna = false;  ///< a consumer generation
  bool gfx12 = false;    ///< RDNA 4
};

/// What is installed, and the settings of the run that rules read besides the record.
struct SelectionEnvironment {
  std::optional<int> flash_attn_version = {};      ///< attention config's override: 2, 3 or 4
  std::vector<int> flash_attn_builds = {2, 3, 4};  ///< which FlashAttention builds are present
  std::optional<bool> use_trtllm_attention = {};   ///< attention config's switch
  bool trtllm_available = true;                    ///< FlashInfer's precompiled kernels can be had
  bool tokenspeed_mla = true;                      ///< that package can be imported
  B12xState b12x = B12xState::kSupported;          ///< that package
  FlashMlaState flashmla = FlashMlaState::kBuilt;  ///< vLLM's build of it
  bool flashinfer_sm90_mla = true;      ///< FlashInfer is new enough for sparse MLA on 9.x
  bool flashinfer_sm120_sparse = true;  ///< FlashInfer is new enough for sparse MLA on 12.x
  MegaAttnState mega_attn = MegaAttnState::kBuilt;  ///< FlashMLA's mega attention
  RocmPlatform rocm;                                ///< of an AMD GPU
  std::vector<std::string> unavailable = {};        ///< members whose class cannot be imported
  std::string unavailable_kind = "ImportError";     ///< what importing those raises, or "OSError"
  /// Members that a run of pagelab has no code for, and why: they cannot be imported either.
  std::map<std::string, std::string> not_implemented = {};
};

/// One question to the registry. Sizes of context parallelism, batch invariance and the cache dtype
/// of the whole run follow the record (sizes are 2 where the flag is set; a dtype that is not known
/// is "auto").
struct SelectionQuestion {
  AttentionSelectorConfig config;              ///< the layer's record
  DeviceCapability capability;                 ///< the GPU's generation
  std::optional<std::int64_t> num_heads = {};  ///< query heads; only an MLA layer says
  SelectionEnvironment environment;            ///< what is installed, and the run's settings
  std::optional<ModelConfig> model = {};       ///< none: a run without a model configuration
};

}  // namespace pagelab
