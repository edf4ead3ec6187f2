// What the tensor cores' arithmetic costs on a CPU.
//
//   arithmetic/<form>/<shape>/<input>   one instruction on a plain tile: the vector form, and the rules
//   word/<form>                         the same in a kernel: 32 lanes bring their fragments and take
//                                       their results; time is that of one mma of one warp
//
// Operands are around 1 with exponents within ± 4, as in attention.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "benchmarks/simulator/mma_kernels.h"
#include "gpu/runtime/device_array.h"
#include "simulator/simt/tensor_core.h"

using namespace pagelab;
using simt::MmaInput;

namespace {

template <int kDepth>
struct Tile {
  std::uint16_t a[16][kDepth];
  std::uint16_t b[kDepth][8];
  float c[16][8];
  float d[16][8];
};

std::uint16_t random_element(MmaInput input, std::mt19937& random) {
  const std::uint32_t fraction_bits = input == MmaInput::kBFloat16 ? 7 : 10;
  const std::uint32_t bias = input == MmaInput::kBFloat16 ? 127 : 15;
  const std::uint32_t sign = random() % 2;
  const std::uint32_t exponent = bias - 4 + random() % 9;
  const std::uint32_t fraction = random() % (1u << fraction_bits);
  return static_cast<std::uint16_t>(sign << 15 | exponent << fraction_bits | fraction);
}

template <int kDepth>
Tile<kDepth> random_tile(MmaInput input) {
  std::mt19937 random(20261129);
  Tile<kDepth> tile = {};
  for (auto& row : tile.a) {
    for (std::uint16_t& element : row) element = random_element(input, random);
  }
  for (auto& row : tile.b) {
    for (std::uint16_t& element : row) element = random_element(input, random);
  }
  std::uniform_real_distribution<float> numbers(-8.0f, 8.0f);
  for (auto& row : tile.c) {
    for (float& element : row) element = numbers(random);
  }
  return tile;
}

template <int kDepth>
void vectors(benchmark::State& state, MmaInput input) {
  Tile<kDepth> tile = random_tile<kDepth>(input);
  for (auto _ : state) {
    if constexpr (kDepth == 16) {
      simt::mma_m16n8k16(tile.a, tile.b, tile.c, tile.d, input);
    } else {
      simt::mma_m16n8k8(tile.a, tile.b, tile.c, tile.d, input);
    }
    benchmark::DoNotOptimize(tile.d);
    benchmark::ClobberMemory();
  }
}

template <int kDepth>
void rules(benchmark::State& state, MmaInput input) {
  Tile<kDepth> tile = random_tile<kDepth>(input);
  for (auto _ : state) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        std::uint16_t b_column[kDepth];
        for (int k = 0; k < kDepth; ++k) b_column[k] = tile.b[k][column];
        tile.d[row][column] =
            simt::mma_by_the_rules(tile.a[row], b_column, kDepth, tile.c[row][column], input);
      }
    }
    benchmark::DoNotOptimize(tile.d);
    benchmark::ClobberMemory();
  }
}

void word(benchmark::State& state,
          const std::shared_ptr<Device>& device,
          void (*launch_rounds)(const MmaRoundsParams&)) {
  MmaRoundsParams params;
  params.rounds = 2000;
  const DeviceArray sums(device, params.ctas * params.threads * sizeof(float), "sums");
  params.sums = sums.as<float>();
  for (auto _ : state) launch_rounds(params);
  const double seconds_per_call = 1e-9;
  const double calls = static_cast<double>(state.iterations()) * params.rounds;
  state.counters["ns_per_mma"] = benchmark::Counter(
      calls * seconds_per_call, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <int kDepth>
void register_shape(MmaInput input) {
  const std::string name = "m16n8k" + std::to_string(kDepth) + "/" + simt::to_string(input);
  benchmark::RegisterBenchmark(("arithmetic/vectors/" + name).c_str(), vectors<kDepth>, input);
  benchmark::RegisterBenchmark(("arithmetic/rules/" + name).c_str(), rules<kDepth>, input);
}

}  // namespace

int main(int argc, char** argv) {
  for (const MmaInput input : {MmaInput::kBFloat16, MmaInput::kFloat16}) {
    register_shape<16>(input);
    register_shape<8>(input);
  }
  benchmark::RegisterBenchmark("word/unchecked", word, simulator_device(),
                               on_simulator::launch_mma_rounds);
  benchmark::RegisterBenchmark("word/checked", word, checked_simulator_device(),
                               on_checked_simulator::launch_mma_rounds);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
