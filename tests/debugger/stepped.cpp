// Launches neighbour_sum on three thread blocks, and a kernel that fails, to be stepped through by
// commands.gdb.

#include <cstdio>
#include <vector>

#include "gpu/device/launch.h"
#include "tests/debugger/neighbour_sum.cuh"

using namespace pagelab;

int main() try {
  // 100 values, so that the last thread block has threads without one.
  std::vector<float> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * static_cast<float>(i);
  std::vector<float> sums(values.size(), -1.0f);

  const NeighbourSumParams params = {values.data(), sums.data(),
                                     static_cast<unsigned int>(values.size())};
  const std::size_t shared_bytes = kThreadsPerCta * sizeof(float);
  launch("neighbour_sum", 3, kThreadsPerCta, neighbour_sum, params, shared_bytes);

  // 0.5 · (i + i + 1), but for the last threads of thread blocks 0, 1 and 2.
  const bool good = sums[0] == 0.5f && sums[38] == 38.5f && sums[39] == 19.5f &&
                    sums[40] == 40.5f && sums[79] == 59.5f && sums[99] == 49.5f;
  try {
    launch("half_barrier", 1, kThreadsPerCta, half_barrier, params);
    std::puts("a divergent barrier was let pass");
    return 1;
  } catch (const Error&) {
    std::puts("the divergent barrier was reported");
  }
  std::puts(good ? "the sums are right" : "the sums are wrong");
  return good ? 0 : 1;
} catch (const Error& error) {
  std::puts(error.what());
  return 2;
}
