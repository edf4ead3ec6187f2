#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_attention/1_naive.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

template <typename Query>
void add_launchers_of(KernelTable<PagedAttentionParams>& table) {
  constexpr DType kQuery = DTypeOf<Query>::kValue;
  table.at(kQuery, DType::kFloat64) = launch_paged_attention_naive<Query, double>;
  table.at(kQuery, DType::kFloat32) = launch_paged_attention_naive<Query, float>;
  table.at(kQuery, DType::kFloat16) = launch_paged_attention_naive<Query, Float16>;
  table.at(kQuery, DType::kBFloat16) = launch_paged_attention_naive<Query, BFloat16>;
  table.at(kQuery, DType::kFp8E4M3) = launch_paged_attention_naive<Query, Fp8E4M3>;
  table.at(kQuery, DType::kFp8E5M2) = launch_paged_attention_naive<Query, Fp8E5M2>;
}

}  // namespace

KernelTable<PagedAttentionParams> paged_attention_naive_launchers() {
  KernelTable<PagedAttentionParams> table;
  add_launchers_of<double>(table);
  add_launchers_of<float>(table);
  add_launchers_of<Float16>(table);
  add_launchers_of<BFloat16>(table);
  return table;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
