#include "reference/registry/catalogue.h"

#include "reference/registry/catalogue/rows.h"

namespace pagelab {

const std::vector<const BackendFacts*>& attention_backends() {
  using namespace catalogue;
  static const std::vector<const BackendFacts*> kRows = {
      &flash_attn(),
      &flash_attn_diffkv(),
      &triton_attn(),
      &triton_attn_diffkv(),
      &triton_flash_attn(),
      &rocm_attn(),
      &rocm_segmented_attn(),
      &rocm_aiter_mla(),
      &rocm_aiter_triton_mla(),
      &rocm_aiter_fa(),
      &rocm_aiter_mla_sparse(),
      &xpu_mla_sparse(),
      &torch_sdpa(),
      &flashinfer(),
      &triton_flashinfer(),
      &flashinfer_mla(),
      &tokenspeed_mla(),
      &flashinfer_mla_sparse(),
      &flashinfer_mla_sparse_sm120(),
      &flashinfer_mla_sparse_sm90(),
      &triton_mla(),
      &cutlass_mla(),
      &flashmla(),
      &flashmla_sparse(),
      &flashmla_sparse_dsv4(),
      &flashinfer_mla_sparse_dsv4(),
      &rocm_flashmla_sparse_dsv4(),
      &flashmla_sparse_dsv41(),
      &flashinfer_mla_sparse_dsv41(),
      &flashmla_mega_attn_dsv41(),
      &b12x(),
      &flash_attn_mla(),
      &flash_attn_mla_sparse(),
      &minimax_m3_sparse(),
      &cutlass_msa(),
      &triton_msa(),
      &no_attention(),
      &flex_attention(),
      &hpc_attn(),
      &rocm_aiter_unified_attn(),
      &cpu_attn(),
      &cpu_mla(),
      &amx_mla(),
      &turboquant(),
      &ultraquant(),
      &custom(),
  };
  return kRows;
}

const std::vector<const BackendFacts*>& mamba_attention_backends() {
  using namespace catalogue;
  static const std::vector<const BackendFacts*> kRows = {
      &mamba1(), &mamba2(), &short_conv(), &linear(), &gdn_attn(), &mamba_custom(),
  };
  return kRows;
}

}  // namespace pagelab
