#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "tests/gpu/kernels/nothing.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

struct NoParams {};

__global__ void nothing(NoParams) {}

}  // namespace

void launch_nothing(unsigned int threads_per_cta) {
  launch("nothing", 1, threads_per_cta, nothing, NoParams{});
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
