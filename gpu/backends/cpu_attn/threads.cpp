#include "gpu/backends/cpu_attn/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace pagelab::cpu_attn {

int num_usable_cpus() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return std::max(1, CPU_COUNT(&usable));
}

void for_each_item(std::int64_t num_items,
                   int num_threads,
                   const std::function<void(std::int64_t item, int thread)>& work) {
  std::atomic<std::int64_t> next_item{0};
  const auto take_items = [&](int thread) {
    for (std::int64_t item = next_item++; item < num_items; item = next_item++) {
      work(item, thread);
    }
  };
  // Threads are started for each call: some 20 µs, a hundredth of the calls that are worth it.
  std::vector<std::jthread> others;
  const std::int64_t useful_threads = std::min<std::int64_t>(num_threads, num_items);
  for (int thread = 1; thread < useful_threads; ++thread) others.emplace_back(take_items, thread);
  take_items(0);
}

}  // namespace pagelab::cpu_attn
