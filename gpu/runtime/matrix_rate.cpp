#include "gpu/runtime/matrix_rate.h"

// A CUDA toolkit may come without cuBLAS; then there is no yardstick, and nothing else is missing.
#if __has_include(<cublas_v2.h>)

#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {
namespace {

constexpr std::int64_t kSize = 8192;  // rows and columns of the matrices

struct CublasLibrary {
  CublasLibrary() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    }
    if (library == nullptr) return;
    create = reinterpret_cast<decltype(create)>(dlsym(library, "cublasCreate_v2"));
    destroy = reinterpret_cast<decltype(destroy)>(dlsym(library, "cublasDestroy_v2"));
    gemm = reinterpret_cast<decltype(gemm)>(dlsym(library, "cublasGemmEx"));
  }
  bool is_there() const { return create != nullptr && destroy != nullptr && gemm != nullptr; }

  void* library = nullptr;  // stays loaded
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  cublasStatus_t (*gemm)(cublasHandle_t,
                         cublasOperation_t,
                         cublasOperation_t,
                         int,
                         int,
                         int,
                         const void*,
                         const void*,
                         cudaDataType,
                         int,
                         const void*,
                         cudaDataType,
                         int,
                         const void*,
                         void*,
                         cudaDataType,
                         int,
                         cublasComputeType_t,
                         cublasGemmAlgo_t) = nullptr;
};

// Random numbers from −1 to 1: a GPU that flips fewer bits, as with equal ones, may clock higher.
DeviceArray random_matrix(const char* name) {
  std::vector<std::uint16_t> elements(static_cast<std::size_t>(kSize * kSize));
  std::mt19937 random(7);
  for (std::uint16_t& element : elements) {
    const float value = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    element = static_cast<std::uint16_t>(bits_of(value) >> 16);
  }
  return DeviceArray::copy_of(cuda_device(), elements, name);
}

std::optional<double> measure() {
  constexpr int kSide = static_cast<int>(kSize);
  const CublasLibrary cublas;
  cublasHandle_t handle = nullptr;
  if (!cublas.is_there() || cublas.create(&handle) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  const DeviceArray a = random_matrix("a");
  const DeviceArray b = random_matrix("b");
  const DeviceArray c(cuda_device(), static_cast<std::size_t>(kSize * kSize) * 2, "c");
  const float one = 1.0f;
  const float zero = 0.0f;
  double seconds = 1e9;
  for (int round = 0; round < 11; ++round) {  // the first loads the kernel
    const double elapsed = cuda_device()->seconds_of([&] {
      const cublasStatus_t status =
          cublas.gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, a.data(),
                      CUDA_R_16BF, kSide, b.data(), CUDA_R_16BF, kSide, &zero, c.data(),
                      CUDA_R_16BF, kSide, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
      if (status != CUBLAS_STATUS_SUCCESS) throw Error("cublasGemmEx failed.");
    });
    if (round > 0) seconds = std::min(seconds, elapsed);
  }
  cublas.destroy(handle);
  return 2.0 * kSize * kSize * kSize / seconds;
}

}  // namespace

std::optional<double> cublas_matrix_rate() {
  static const std::optional<double> rate = measure();
  return rate;
}

}  // namespace pagelab

#else

namespace pagelab {

std::optional<double> cublas_matrix_rate() { return std::nullopt; }

}  // namespace pagelab

#endif
