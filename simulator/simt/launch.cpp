#include "simulator/simt/launch.h"

#include <numeric>
#include <vector>

#include "simulator/simt/error.h"
#include "simulator/simt/running_launch.h"

namespace pagelab::simt {

constinit thread_local RunningLaunch* running_launch = nullptr;

namespace {

constinit thread_local ThreadOrder thread_order = ThreadOrder::kAscending;
constinit thread_local std::uint64_t thread_order_seed = 0;

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers with every standard library.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

// Which index runs at which turn. Ascending and descending need no table.
class Turns {
 public:
  Turns(std::uint64_t count, ThreadOrder order, std::uint64_t seed) : count_(count), order_(order) {
    if (order != ThreadOrder::kShuffled) return;
    shuffled_.resize(count);
    std::iota(shuffled_.begin(), shuffled_.end(), std::uint64_t{0});
    // Fisher and Yates, from the back; a grid is far too small for the modulo to matter.
    for (std::uint64_t last = count; last > 1; --last) {
      std::swap(shuffled_[last - 1], shuffled_[next_random(seed) % last]);
    }
  }

  std::uint64_t index_at(std::uint64_t turn) const {
    switch (order_) {
      case ThreadOrder::kDescending:
        return count_ - 1 - turn;
      case ThreadOrder::kShuffled:
        return shuffled_[turn];
      default:
        return turn;
    }
  }

 private:
  std::uint64_t count_;
  ThreadOrder order_;
  std::vector<std::uint64_t> shuffled_;
};

void run_all_threads(const LaunchConfig& config,
                     const Turns& cta_turns,
                     const Turns& thread_turns,
                     void (*run_thread)(const void* body),
                     const void* body) {
  gridDim = config.grid;
  blockDim = config.cta;
  for (std::uint64_t cta_turn = 0; cta_turn < config.grid.count(); ++cta_turn) {
    blockIdx = coordinates_of(cta_turns.index_at(cta_turn), config.grid);
    for (std::uint64_t thread_turn = 0; thread_turn < config.cta.count(); ++thread_turn) {
      threadIdx = coordinates_of(thread_turns.index_at(thread_turn), config.cta);
      run_thread(body);
    }
  }
}

// While it lives, `running_launch` points to this launch.
class LaunchScope {
 public:
  explicit LaunchScope(RunningLaunch& launch) { running_launch = &launch; }
  ~LaunchScope() { running_launch = nullptr; }
};

void check_extent(const LaunchConfig& config,
                  const char* what,
                  const char* direction,
                  unsigned int value,
                  unsigned int limit) {
  if (value >= 1 && value <= limit) return;
  throw Error(std::string("kernel ") + config.kernel + ": " + what + "." + direction + " is " +
              std::to_string(value) + ", but it must be from 1 to " + std::to_string(limit) + ".");
}

}  // namespace

ScopedThreadOrder::ScopedThreadOrder(ThreadOrder order, std::uint64_t seed)
    : previous_order_(thread_order), previous_seed_(thread_order_seed) {
  thread_order = order;
  thread_order_seed = seed;
}

ScopedThreadOrder::~ScopedThreadOrder() {
  thread_order = previous_order_;
  thread_order_seed = previous_seed_;
}

void check_launch_limits(const LaunchConfig& config) {
  check_extent(config, "grid", "x", config.grid.x, 2147483647u);
  check_extent(config, "grid", "y", config.grid.y, 65535u);
  check_extent(config, "grid", "z", config.grid.z, 65535u);
  check_extent(config, "thread block", "x", config.cta.x, 1024u);
  check_extent(config, "thread block", "y", config.cta.y, 1024u);
  check_extent(config, "thread block", "z", config.cta.z, 64u);
  if (config.cta.count() > 1024) {
    throw Error(std::string("kernel ") + config.kernel + ": a thread block of " +
                to_string(config.cta) + " has " + std::to_string(config.cta.count()) +
                " threads, but at most 1024 are allowed.");
  }
}

void run_grid(const LaunchConfig& config, void (*run_thread)(const void* body), const void* body) {
  check_launch_limits(config);
  if (running_launch != nullptr) {
    throw Error(std::string("kernel ") + config.kernel + " was launched from within kernel " +
                running_launch->config->kernel + ", which the simulator cannot do.");
  }
  const Turns cta_turns(config.grid.count(), thread_order, thread_order_seed);
  const Turns thread_turns(config.cta.count(), thread_order, thread_order_seed + 1);
  RunningLaunch launch;
  launch.config = &config;
  const LaunchScope scope(launch);
  if (setjmp(launch.leave_kernel) == 0) {
    run_all_threads(config, cta_turns, thread_turns, run_thread, body);
  }
  if (!launch.error.empty()) throw Error(launch.error);
}

}  // namespace pagelab::simt
