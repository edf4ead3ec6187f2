// The ladder of decode on a GPU: 64 requests with one query each. "GB/s" counts each key and value once,
// "share of read" compares it with what a kernel that only reads reaches in the same run.

#include <string>

#include "benchmarks/gpu/attend.h"
#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab::bench {

void register_decode() {
  constexpr std::int64_t kNumReqs = 64;
  const KernelSet kernels = kernels_of(*cuda_device());
  for (const auto& rung : kernels.paged_decode) {
    for (const std::int64_t seq_len : {1024, 8192}) {
      const std::string name = std::string(rung.name) + "/context:" + std::to_string(seq_len);
      const auto body = [launchers = rung.launchers, seq_len](benchmark::State& state) {
        attend(state, launchers, kNumReqs, 1, seq_len);
        const double bandwidth = read_bandwidth();
        state.counters["read GB/s"] = bandwidth * 1e-9;
        state.counters["share of read"] = state.counters["GB/s"] / (bandwidth * 1e-9);
      };
      benchmark::RegisterBenchmark(name.c_str(), body)
          ->Unit(benchmark::kMicrosecond)
          ->UseManualTime();
    }
  }
}

}  // namespace pagelab::bench
