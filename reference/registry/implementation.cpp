#include "reference/registry/implementation.h"

#include <algorithm>

namespace pagelab {
namespace {

// Every step of the contract (reference/contract/attention_step.h), in the registry's words. Nothing that
// needs another kind of cache, several GPUs or a running engine is part of it.
BackendFacts every_step(std::string_view name, std::string_view description) {
  return {
      .name = name,
      .family = "pagelab",
      .description = description,
      .package = "pagelab",
      .class_name = name,
      .get_name = name,
      .dtypes = {"float16", "bfloat16", "float32", "float64"},
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "float32", "float64", "fp8", "fp8_e4m3",
                          "fp8_e5m2"},
      .head_sizes = HeadSizes{.least = 1},
      .supports_sink = true,
      .supports_mm_prefix = true,
      .supports_per_head_quant_scales = true,
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .forward_includes_kv_cache_update = false,
  };
}

// What the tiles of the kernels hold in shared memory.
BackendFacts every_step_up_to_256(std::string_view name, std::string_view description) {
  BackendFacts takes = every_step(name, description);
  takes.head_sizes = HeadSizes{.least = 1, .most = 256};
  return takes;
}

constexpr std::string_view kBesidesTheRecord =
    "soft cap, ALiBi, values of another width than keys, windows to the right";

}  // namespace

const std::vector<Implementation>& implementations() {
  static const std::vector<std::string> kOnCpu = {"cpu"};
  static const std::vector<std::string> kOnDevices = {"simulator", "cuda"};
  static const std::vector<Implementation> kImplementations = {
      {"REFERENCE", kOnCpu,
       every_step("REFERENCE", "The definition, in double: what everything else is compared with."),
       kBesidesTheRecord},
      {"REFERENCE_FLOAT", kOnCpu,
       every_step("REFERENCE_FLOAT", "The same steps in float32, in the canonical order."),
       kBesidesTheRecord},
      {"NAIVE", kOnDevices,
       every_step("NAIVE", "The first CUDA kernels, with the very bits of REFERENCE_FLOAT."),
       kBesidesTheRecord},
      {"FLASH_ATTN", kOnDevices,
       every_step_up_to_256("FLASH_ATTN", "One varlen call for decodes and prefills mixed."),
       kBesidesTheRecord},
      {"FLASHINFER", kOnDevices,
       every_step_up_to_256("FLASHINFER", "A plan, then a decode and a prefill wrapper."),
       kBesidesTheRecord},
      {"TRITON_ATTN", kOnDevices,
       every_step_up_to_256("TRITON_ATTN", "One unified kernel, in two forms."), kBesidesTheRecord},
      {"FLEX_ATTENTION", kOnDevices,
       every_step_up_to_256("FLEX_ATTENTION", "Masks and scores as callables, and a block mask."),
       kBesidesTheRecord},
      {"CPU_ATTN", kOnCpu,
       every_step("CPU_ATTN", "Online softmax in the vectors and threads of the CPU."),
       kBesidesTheRecord},
  };
  return kImplementations;
}

const Implementation* find_implementation(std::string_view name) {
  const std::vector<Implementation>& all = implementations();
  const auto found = std::find_if(
      all.begin(), all.end(),
      [name](const Implementation& implementation) { return implementation.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace pagelab
