#include "gpu/kernels/cascade/1_prefix.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelTable<PagedAttentionParams> cascade_prefix_launchers() {
  KernelTable<PagedAttentionParams> table = table_of_all_dtypes<PagedAttentionParams>(
      []<typename Activation, typename Stored>(Activation, Stored) {
        return +[](const PagedAttentionParams& params) {
          require_taken(CascadePrefix::kName,
                        refusal_of_prefix(with_dtypes<Activation, Stored>(params)));
        };
      });
  table.at(DType::kFloat16, DType::kFloat16) = &CascadePrefix::launch<Float16>;
  table.at(DType::kBFloat16, DType::kBFloat16) = &CascadePrefix::launch<BFloat16>;
  return table;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
