// Stands in for cuda_device.cpp and matrix_rate.cpp in a build without CUDA.

#include "gpu/runtime/device.h"
#include "gpu/runtime/gpu_code.h"
#include "gpu/runtime/matrix_rate.h"
#include "reference/contract/error.h"

namespace pagelab {
namespace {
constexpr const char* kWhyNot =
    "this pagelab was built without CUDA (no nvcc was found, or PAGELAB_CUDA is OFF)";
}  // namespace

std::shared_ptr<Device> cuda_device() {
  throw Error(std::string("target cuda is not available: ") + kWhyNot + ".");
}

bool cuda_is_available(std::string* why_not) {
  if (why_not != nullptr) *why_not = kWhyNot;
  return false;
}

ComputeCapability cuda_compute_capability() {
  cuda_device();  // says that there is none
  return {};
}

std::optional<double> cublas_matrix_rate() {
  cuda_device();  // says that there is none
  return std::nullopt;
}

}  // namespace pagelab
