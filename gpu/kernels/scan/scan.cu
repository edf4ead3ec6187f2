#include "gpu/kernels/launchers.h"
#include "gpu/kernels/scan/1_hillis_steele.cuh"
#include "gpu/kernels/scan/2_warp_shuffle.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

template <typename Element>
std::array<Rung<ScanParams<Element>>, 2> rungs() {
  return {{
      {"scan/1_hillis_steele", &launch_scan_hillis_steele<Element>},
      {"scan/2_warp_shuffle", &launch_scan_warp_shuffle<Element>},
  }};
}

}  // namespace

std::array<Rung<ScanParams<std::int32_t>>, 2> scan_int32_rungs() { return rungs<std::int32_t>(); }
std::array<Rung<ScanParams<float>>, 2> scan_float_rungs() { return rungs<float>(); }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
