// The ladder of prefill on a GPU: one causal request of a Llama-3-8B layer in bfloat16, and a matrix product of
// cuBLAS in the same run as the yardstick. "TFLOP/s" counts 2 · L² · head size · heads: two products over half
// of the L · L pairs of query and key, two operations an element.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"
#include "reference/cache/block_table.h"

namespace pagelab::bench {
namespace {

constexpr std::int64_t kNumQueryHeads = 32;
constexpr std::int64_t kNumKvHeads = 8;
constexpr std::int64_t kHeadSize = 128;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kBytesPerToken = kNumKvHeads * kHeadSize * 2;  // of keys, or of values

void count_operations(benchmark::State& state, double operations) {
  state.counters["TFLOP/s"] =
      benchmark::Counter(operations * 1e-12, benchmark::Counter::kIsIterationInvariantRate);
}

// Ordinary bfloat16 numbers in [−1, 1): equal ones would spare the softmax its work.
DeviceArray random_numbers(std::int64_t count, const char* name) {
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(count));
  std::mt19937 random(7);
  for (std::uint16_t& number : numbers) {
    const float value = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    number = static_cast<std::uint16_t>(bits_of(value) >> 16);
  }
  return device_copy(numbers, name);
}

void prefill(benchmark::State& state, const KernelTable<PagedAttentionParams>& rung) {
  const std::int64_t num_tokens = state.range(0);
  const std::int64_t num_blocks = blocks_for_tokens(num_tokens, kBlockSize);
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
  const std::int32_t length = static_cast<std::int32_t>(num_tokens);
  const DeviceArray block_table = device_copy(blocks, "block_table");
  const DeviceArray query_start_loc =
      device_copy(std::vector<std::int32_t>{0, length}, "query_start_loc");
  const DeviceArray seq_lens = device_copy(std::vector<std::int32_t>{length}, "seq_lens");
  const DeviceArray scales = device_copy(std::vector<float>(kNumKvHeads, 1.0f), "scales");
  const DeviceArray query = random_numbers(num_tokens * kNumQueryHeads * kHeadSize, "query");
  const std::int64_t cache_size = num_blocks * kBlockSize * kNumKvHeads * kHeadSize;
  const DeviceArray keys = random_numbers(cache_size, "key_cache");
  const DeviceArray values = random_numbers(cache_size, "value_cache");
  const DeviceArray output = numbers(num_tokens * kNumQueryHeads * kHeadSize * 4, "output");
  const DeviceArray lse = numbers(num_tokens * kNumQueryHeads * 4, "lse");

  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = num_tokens;
  params.num_query_heads = kNumQueryHeads;
  params.num_kv_heads = kNumKvHeads;
  params.head_size = params.head_size_v = kHeadSize;
  params.num_reqs = 1;
  params.query_start_loc = query_start_loc.as<std::int32_t>();
  params.seq_lens = seq_lens.as<std::int32_t>();
  params.block_table = block_table.as<std::int32_t>();
  params.max_blocks_per_req = num_blocks;
  params.key_cache = keys.data();
  params.value_cache = values.data();
  params.key_strides = {.block = kBlockSize * kNumKvHeads * kHeadSize,
                        .token = kNumKvHeads * kHeadSize,
                        .head = kHeadSize};
  params.value_strides = params.key_strides;
  params.block_size = kBlockSize;
  params.k_scales = params.v_scales = scales.as<float>();
  params.scale = 0.08838835f;  // 1/√128
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  const auto launch = rung.at(DType::kBFloat16, DType::kBFloat16);
  const std::int64_t bytes =
      2 * num_tokens * kBytesPerToken + static_cast<std::int64_t>(query.bytes() + output.bytes());
  time_launches(state, bytes, [&] { launch(params); });
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
