// The ladder of prefill on a GPU: one causal request of a Llama-3-8B layer in bfloat16, and a matrix product of
// cuBLAS in the same run as the yardstick. "TFLOP/s" counts 2 · L² · head size · heads: two products over half
// of the L · L pairs of query and key, two operations an element.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <string>

#include "benchmarks/gpu/attend.h"
#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab::bench {
namespace {

void count_operations(benchmark::State& state, double operations) {
  state.counters["TFLOP/s"] =
      benchmark::Counter(operations * 1e-12, benchmark::Counter::kIsIterationInvariantRate);
}

void prefill(benchmark::State& state, const KernelTable<PagedAttentionParams>& rung) {
  const std::int64_t num_tokens = state.range(0);
  attend(state, rung, 1, num_tokens, num_tokens);
  const double length_squared = static_cast<double>(num_tokens) * static_cast<double>(num_tokens);
  count_operations(state, 2.0 * length_squared * kHeadSize * kNumQueryHeads);
}

// cuBLAS is asked for when the benchmark runs: the program that is carried to a GPU machine must not need it.
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
  cublasStatus_t (*create)(cublasHandle_t*) = nullptr;
  cublasStatus_t (*destroy)(cublasHandle_t) = nullptr;
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

void cublas_matmul(benchmark::State& state) {
  constexpr std::int64_t kSize = 8192;
  constexpr int kSide = static_cast<int>(kSize);
  static const CublasLibrary cublas;
  cublasHandle_t handle = nullptr;
  if (!cublas.is_there() || cublas.create(&handle) != CUBLAS_STATUS_SUCCESS) {
    state.SkipWithError("there is no cuBLAS on this machine: libcublas.so.13 was not found");
    return;
  }
  const DeviceArray a = random_numbers(kSize * kSize, "a");
  const DeviceArray b = random_numbers(kSize * kSize, "b");
  const DeviceArray c = numbers(kSize * kSize * 2, "c");
  const float one = 1.0f;
  const float zero = 0.0f;
  time_launches(state, 3 * kSize * kSize * 2, [&] {
    const cublasStatus_t status =
        cublas.gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, a.data(),
                    CUDA_R_16BF, kSide, b.data(), CUDA_R_16BF, kSide, &zero, c.data(), CUDA_R_16BF,
                    kSide, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw Error("cublasGemmEx failed.");
  });
  count_operations(state, 2.0 * kSize * kSize * kSize);
  cublas.destroy(handle);
}

}  // namespace

void register_prefill() {
  const KernelSet kernels = kernels_of(*cuda_device());
  for (const auto& rung : kernels.paged_prefill) {
    const auto body = [launchers = rung.launchers](benchmark::State& state) {
      prefill(state, launchers);
    };
    benchmark::RegisterBenchmark(rung.name, body)
        ->ArgName("tokens")
        ->Arg(2048)
        ->Arg(16384)
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
  benchmark::RegisterBenchmark("cuBLAS/bfloat16_8192", cublas_matmul)
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime();
}

}  // namespace pagelab::bench
