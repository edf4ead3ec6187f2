// Runs an empty kernel on the simulator and counts its threads.

#include <cstdio>

#include "simulator/simt/launch.h"

int main() {
  int num_threads = 0;
  pagelab::simt::launch({"count", 3, 5}, [&num_threads] { ++num_threads; });
  std::printf("3 thread blocks of 5 threads: %d threads ran\n", num_threads);
  return num_threads == 15 ? 0 : 1;
}
