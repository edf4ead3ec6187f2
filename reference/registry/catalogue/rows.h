/// \file
/// The rows of the catalogue, a function each, in the order of vLLM's enums, and what several rows
/// share. The rows themselves stand in the .cpp files of this folder, by family.
/// \source vLLM 0.32.0, v1/attention/backends and what v1/attention/backends/registry.py names
#pragma once

#include "reference/registry/backend_facts.h"

namespace pagelab::catalogue {

/// K of every token, then V, in one row of a head.
inline constexpr KvPage kKeysAndValues = {
    "num_blocks", "num_kv_heads", "block_size", "2*head_size",
    "head_size of K followed by head_size of V (head_size + head_size_v in general)"};
/// The same, with V of another width.
inline constexpr KvPage kKeysAndOtherValues = {"num_blocks", "num_kv_heads", "block_size",
                                               "head_size + head_size_v",
                                               "head_size + head_size_v in one row"};
/// One latent row a token, for all heads.
inline constexpr KvPage kLatent = {"num_blocks", "1", "block_size", "head_size",
                                   "head_size (one latent row, no separate V)"};
/// All heads' K in one slot and all heads' V in another.
inline constexpr KvPage kTwoHeadGroups = {"num_blocks", "2", "block_size", "num_kv_heads*head_size",
                                          "num_kv_heads*head_size; slot 0 is K, slot 1 is V"};

/// Every physical order of the axes L (layer), B, H, N, C, the preferred ones first.
inline const std::vector<std::string_view> kAllLayouts = {"LBNHC", "LBHNC", "BLNHC",
                                                          "BLHNC", "BHLNC", "LHBNC"};
/// Importing fails if both of vLLM's FlashAttention builds are gone.
inline constexpr std::string_view kNoFlashAttn =
    "vllm.vllm_flash_attn._vllm_fa2_C+vllm.vllm_flash_attn._vllm_fa3_C";

const BackendFacts& flash_attn();             ///< AttentionBackendEnum.FLASH_ATTN
const BackendFacts& flash_attn_diffkv();      ///< AttentionBackendEnum.FLASH_ATTN_DIFFKV
const BackendFacts& triton_attn();            ///< AttentionBackendEnum.TRITON_ATTN
const BackendFacts& triton_attn_diffkv();     ///< AttentionBackendEnum.TRITON_ATTN_DIFFKV
const BackendFacts& triton_flash_attn();      ///< AttentionBackendEnum.TRITON_FLASH_ATTN
const BackendFacts& rocm_attn();              ///< AttentionBackendEnum.ROCM_ATTN
const BackendFacts& rocm_segmented_attn();    ///< AttentionBackendEnum.ROCM_SEGMENTED_ATTN
const BackendFacts& rocm_aiter_mla();         ///< AttentionBackendEnum.ROCM_AITER_MLA
const BackendFacts& rocm_aiter_triton_mla();  ///< AttentionBackendEnum.ROCM_AITER_TRITON_MLA
const BackendFacts& rocm_aiter_fa();          ///< AttentionBackendEnum.ROCM_AITER_FA
const BackendFacts& rocm_aiter_mla_sparse();  ///< AttentionBackendEnum.ROCM_AITER_MLA_SPARSE
const BackendFacts& xpu_mla_sparse();         ///< AttentionBackendEnum.XPU_MLA_SPARSE
const BackendFacts& torch_sdpa();             ///< AttentionBackendEnum.TORCH_SDPA
const BackendFacts& flashinfer();             ///< AttentionBackendEnum.FLASHINFER
const BackendFacts& triton_flashinfer();      ///< AttentionBackendEnum.TRITON_FLASHINFER
const BackendFacts& flashinfer_mla();         ///< AttentionBackendEnum.FLASHINFER_MLA
const BackendFacts& tokenspeed_mla();         ///< AttentionBackendEnum.TOKENSPEED_MLA
const BackendFacts& flashinfer_mla_sparse();  ///< AttentionBackendEnum.FLASHINFER_MLA_SPARSE
const BackendFacts&
flashinfer_mla_sparse_sm120();  ///< AttentionBackendEnum.FLASHINFER_MLA_SPARSE_SM120
const BackendFacts&
flashinfer_mla_sparse_sm90();                ///< AttentionBackendEnum.FLASHINFER_MLA_SPARSE_SM90
const BackendFacts& triton_mla();            ///< AttentionBackendEnum.TRITON_MLA
const BackendFacts& cutlass_mla();           ///< AttentionBackendEnum.CUTLASS_MLA
const BackendFacts& flashmla();              ///< AttentionBackendEnum.FLASHMLA
const BackendFacts& flashmla_sparse();       ///< AttentionBackendEnum.FLASHMLA_SPARSE
const BackendFacts& flashmla_sparse_dsv4();  ///< AttentionBackendEnum.FLASHMLA_SPARSE_DSV4
const BackendFacts&
flashinfer_mla_sparse_dsv4();  ///< AttentionBackendEnum.FLASHINFER_MLA_SPARSE_DSV4
const BackendFacts&
rocm_flashmla_sparse_dsv4();                  ///< AttentionBackendEnum.ROCM_FLASHMLA_SPARSE_DSV4
const BackendFacts& flashmla_sparse_dsv41();  ///< AttentionBackendEnum.FLASHMLA_SPARSE_DSV41
const BackendFacts&
flashinfer_mla_sparse_dsv41();  ///< AttentionBackendEnum.FLASHINFER_MLA_SPARSE_DSV41
const BackendFacts& flashmla_mega_attn_dsv41();  ///< AttentionBackendEnum.FLASHMLA_MEGA_ATTN_DSV41
const BackendFacts& b12x();                      ///< AttentionBackendEnum.B12X
const BackendFacts& flash_attn_mla();            ///< AttentionBackendEnum.FLASH_ATTN_MLA
const BackendFacts& flash_attn_mla_sparse();     ///< AttentionBackendEnum.FLASH_ATTN_MLA_SPARSE
const BackendFacts& minimax_m3_sparse();         ///< AttentionBackendEnum.MINIMAX_M3_SPARSE
const BackendFacts& cutlass_msa();               ///< AttentionBackendEnum.CUTLASS_MSA
const BackendFacts& triton_msa();                ///< AttentionBackendEnum.TRITON_MSA
const BackendFacts& no_attention();              ///< AttentionBackendEnum.NO_ATTENTION
const BackendFacts& flex_attention();            ///< AttentionBackendEnum.FLEX_ATTENTION
const BackendFacts& hpc_attn();                  ///< AttentionBackendEnum.HPC_ATTN
const BackendFacts& rocm_aiter_unified_attn();   ///< AttentionBackendEnum.ROCM_AITER_UNIFIED_ATTN
const BackendFacts& cpu_attn();                  ///< AttentionBackendEnum.CPU_ATTN
const BackendFacts& cpu_mla();                   ///< AttentionBackendEnum.CPU_MLA
const BackendFacts& amx_mla();                   ///< AttentionBackendEnum.AMX_MLA
const BackendFacts& turboquant();                ///< AttentionBackendEnum.TURBOQUANT
const BackendFacts& ultraquant();                ///< AttentionBackendEnum.ULTRAQUANT
const BackendFacts& custom();                    ///< AttentionBackendEnum.CUSTOM
const BackendFacts& mamba1();                    ///< MambaAttentionBackendEnum.MAMBA1
const BackendFacts& mamba2();                    ///< MambaAttentionBackendEnum.MAMBA2
const BackendFacts& short_conv();                ///< MambaAttentionBackendEnum.SHORT_CONV
const BackendFacts& linear();                    ///< MambaAttentionBackendEnum.LINEAR
const BackendFacts& gdn_attn();                  ///< MambaAttentionBackendEnum.GDN_ATTN
const BackendFacts& mamba_custom();              ///< MambaAttentionBackendEnum.CUSTOM

/// Why a record does not go together with FLASH_ATTN.
/// \param question       the question
/// \param use_mm_prefix  instead of the record's: a composite sends prefix masks elsewhere
std::optional<std::string> flash_attn_reason(const SelectionQuestion& question, bool use_mm_prefix);
/// The version of FlashAttention that a record with all its fields leads to.
std::optional<int> flash_attn_version_of_record(const SelectionQuestion& question);
/// Why a record does not go together with FLASHINFER.
std::optional<std::string> flashinfer_combination(const SelectionQuestion& question);
/// Why FlashMLA's build cannot be used at all.
std::optional<std::string> flashmla_build_reason(const SelectionQuestion& question);

}  // namespace pagelab::catalogue
