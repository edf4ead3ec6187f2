// bench_gpu: every kernel on this machine's GPU. Without one the program says so and ends well.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "benchmarks/gpu/timing.h"
#include "gpu/runtime/device.h"

using namespace pagelab;

int main(int argc, char** argv) {
  std::string why_not;
  if (!cuda_is_available(&why_not)) {
    std::printf("SKIPPED: needs a GPU, but %s.\n", why_not.c_str());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::printf("GPU: %s\n", cuda_device()->name().c_str());
  bench::register_ladders();
  bench::register_decode();
  bench::register_cascade();
  bench::register_prefill();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
