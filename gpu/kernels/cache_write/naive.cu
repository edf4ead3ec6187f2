#include "gpu/kernels/cache_write/1_naive.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

template <typename Source>
void add_launchers_of(KernelTable<CacheWriteParams>& table) {
  constexpr DType kSource = DTypeOf<Source>::kValue;
  table.at(kSource, DType::kFloat64) = launch_cache_write_naive<Source, double>;
  table.at(kSource, DType::kFloat32) = launch_cache_write_naive<Source, float>;
  table.at(kSource, DType::kFloat16) = launch_cache_write_naive<Source, Float16>;
  table.at(kSource, DType::kBFloat16) = launch_cache_write_naive<Source, BFloat16>;
  table.at(kSource, DType::kFp8E4M3) = launch_cache_write_naive<Source, Fp8E4M3>;
  table.at(kSource, DType::kFp8E5M2) = launch_cache_write_naive<Source, Fp8E5M2>;
}

}  // namespace

KernelTable<CacheWriteParams> cache_write_naive_launchers() {
  KernelTable<CacheWriteParams> table;
  add_launchers_of<double>(table);
  add_launchers_of<float>(table);
  add_launchers_of<Float16>(table);
  add_launchers_of<BFloat16>(table);
  return table;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
