#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"

// After those, which say first that the targets' namespaces are inline.
#include "tests/gpu/tensor_core/ldmatrix_rows.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// Writes the registers of one form; what it lacks of four is 0.
template <int kMatrices>
__device__ void keep(const test::LdmatrixRowsParams& params,
                     int form,
                     const std::uint32_t (&r)[kMatrices]) {
  std::uint32_t* kept = params.registers + (form * 32 + static_cast<int>(threadIdx.x)) * 4;
  for (int index = 0; index < kMatrices; ++index) kept[index] = r[index];
  for (int index = kMatrices; index < 4; ++index) kept[index] = 0;
}

__global__ void load_matrices(test::LdmatrixRowsParams params) {
  constexpr int kPitch = test::kLdmatrixPitch;
  __shared__ __align__(16) std::uint16_t tile[32 * kPitch];
  for (int index = static_cast<int>(threadIdx.x); index < 32 * kPitch;
       index += static_cast<int>(blockDim.x)) {
    tile[index] = params.rows[index];
  }
  if (!params.lacks_barrier) __syncthreads();
  const std::uint16_t* rows = params.from_global ? params.rows : tile;
  const std::uint16_t* row = rows + params.row_of_lane[threadIdx.x] * kPitch + params.offset;
  std::uint32_t one[1];
  std::uint32_t two[2];
  std::uint32_t four[4];
  ldmatrix_x1(one, row);
  keep(params, 0, one);
  ldmatrix_x2(two, row);
  keep(params, 1, two);
  ldmatrix_x4(four, row);
  keep(params, 2, four);
  ldmatrix_x1_trans(one, row);
  keep(params, 3, one);
  ldmatrix_x2_trans(two, row);
  keep(params, 4, two);
  ldmatrix_x4_trans(four, row);
  keep(params, 5, four);
}

}  // namespace

void ldmatrix_rows(const test::LdmatrixRowsParams& params) {
  launch("ldmatrix_rows", 1, static_cast<unsigned int>(params.threads), load_matrices, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
