/// \file
/// Random questions to the registry, for tests and benchmarks: every field takes every value that some rule looks
/// at, and a few that none does.
#pragma once

#include <random>
#include <vector>

#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// Draws questions. The same seed draws the same ones.
class RandomQuestions {
 public:
  /// \param seed  of the generator
  explicit RandomQuestions(unsigned seed) : generator_(seed) {}

  /// The next question.
  SelectionQuestion next() {
    SelectionQuestion question;
    question.capability = one_of<DeviceCapability>({{7, 5},
                                                    {8, 0},
                                                    {8, 6},
                                                    {8, 9},
                                                    {9, 0},
                                                    {9, 1},
                                                    {10, 0},
                                                    {10, 3},
                                                    {11, 0},
                                                    {12, 0},
                                                    {12, 1},
                                                    {13, 0}});
    if (chance(2)) question.num_heads = one_of<std::int64_t>({1, 8, 16, 17, 32, 64, 128});
    draw_record(question.config);
    draw_environment(question.environment);
    if (chance(2)) draw_model(question);
    return question;
  }

  /// True once in so many times.
  bool chance(int one_in) { return std::uniform_int_distribution<int>(1, one_in)(generator_) == 1; }

  /// One of the values, each as likely.
  template <typename Value>
  Value one_of(const std::vector<Value>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(generator_)];
  }

 private:
  void draw_record(AttentionSelectorConfig& config) {
    config.head_size = one_of<std::int64_t>(
        {1, 16, 32, 40, 64, 72, 80, 96, 128, 192, 224, 256, 264, 320, 512, 513, 544, 576});
    config.dtype = one_of<std::string>({"float16", "bfloat16", "bfloat16", "float32"});
    if (!chance(8)) config.kv_cache_dtype = std::string(one_of(kv_cache_dtype_names()));
    if (chance(2)) {
      config.block_size = one_of<std::int64_t>({1, 8, 16, 17, 32, 48, 64, 96, 128, 256, 272, 1024});
    }
    config.use_mla = chance(2);
    config.use_sparse = chance(3);
    for (bool* flag : {&config.has_sink, &config.use_mm_prefix, &config.use_per_head_quant_scales,
                       &config.has_sliding_window, &config.use_non_causal,
                       &config.use_batch_invariant, &config.use_kv_connector, &config.use_pcp,
                       &config.use_adaptive_verification, &config.use_dcp, &config.use_rswa}) {
      *flag = chance(5);
    }
    config.attn_type = one_of<AttentionType>({AttentionType::kDecoder, AttentionType::kDecoder,
                                              AttentionType::kEncoder, AttentionType::kEncoderOnly,
                                              AttentionType::kEncoderDecoder});
  }

  void draw_environment(SelectionEnvironment& environment) {
    if (chance(4)) environment.flash_attn_version = one_of<int>({2, 3, 4});
    environment.flash_attn_builds =
        one_of<std::vector<int>>({{2, 3, 4}, {2, 3, 4}, {2}, {3, 4}, {}});
    if (chance(3)) environment.use_trtllm_attention = chance(2);
    environment.trtllm_available = !chance(5);
    environment.tokenspeed_mla = !chance(5);
    environment.b12x = one_of<B12xState>(
        {B12xState::kSupported, B12xState::kAbsent, B12xState::kUnsupportedDevice});
    environment.flashmla =
        one_of<FlashMlaState>({FlashMlaState::kBuilt, FlashMlaState::kBuilt, FlashMlaState::kBuilt,
                               FlashMlaState::kNoKernels, FlashMlaState::kNoExtension});
    environment.flashinfer_sm90_mla = !chance(5);
    environment.flashinfer_sm120_sparse = !chance(5);
    environment.mega_attn = one_of<MegaAttnState>(
        {MegaAttnState::kBuilt, MegaAttnState::kNoOps, MegaAttnState::kNoPermute});
    environment.rocm.is_rdna = chance(3);
    environment.rocm.gfx12 = environment.rocm.is_rdna && chance(2);
  }

  void draw_model(SelectionQuestion& question) {
    ModelConfig model;
    model.head_size = one_of<std::int64_t>({64, 128, 256, 512, 576});
    model.num_kv_heads = one_of<std::int64_t>({1, 8, 40});
    model.num_heads = one_of<std::int64_t>({8, 30, 40, 64});
    model.is_diffusion = chance(5);
    model.is_mm_prefix_lm = question.config.use_mm_prefix;
    model.has_rswa_window = question.config.use_rswa;
    if (!chance(5)) model.qk_nope_head_dim = one_of<std::int64_t>({64, 96, 128, 192, 256});
    if (!chance(5)) model.qk_rope_head_dim = one_of<std::int64_t>({0, 32, 64});
    if (!chance(5)) model.v_head_dim = one_of<std::int64_t>({64, 128, 256});
    if (!chance(5)) model.kv_lora_rank = one_of<std::int64_t>({256, 512});
    if (!chance(3)) model.index_topk = one_of<std::int64_t>({1024, 2048});
    if (chance(4)) model.attn_logit_softcapping = 50.0;
    question.model = model;
  }

  std::mt19937 generator_;
};

}  // namespace pagelab
