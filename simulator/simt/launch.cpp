#include "simulator/simt/launch.h"

#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "simulator/simt/checks.h"
#include "simulator/simt/cores.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/error.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

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

LaunchPlan plan_of(const LaunchConfig& config,
                   void (*run_thread)(const void* body),
                   const void* body,
                   GridProgress& progress) {
  LaunchPlan plan;
  plan.progress = &progress;
  plan.config = config;
  plan.run_thread = run_thread;
  plan.body = body;
  const Turns turns(config.cta.count(), thread_order, thread_order_seed + 1);
  plan.lane_turns.resize((config.cta.count() + kLanesPerWarp - 1) / kLanesPerWarp);
  for (std::uint64_t turn = 0; turn < config.cta.count(); ++turn) {
    const std::uint64_t thread = turns.index_at(turn);
    plan.thread_idx.push_back(coordinates_of(turn, config.cta));
    plan.thread_turns.push_back(static_cast<std::uint16_t>(thread));
    plan.lane_turns[thread / kLanesPerWarp].push_back(
        static_cast<std::uint8_t>(thread % kLanesPerWarp));
  }
  return plan;
}

// This host thread's thread block. It keeps its fibers from launch to launch.
ThreadBlock& thread_block_of_this_thread() {
  static thread_local ThreadBlock thread_block;
  return thread_block;
}

// A launch that several cores work on: each takes the next thread block when it is done with one.
class GridRun {
 public:
  GridRun(const LaunchPlan& plan, const Turns& cta_turns)
      : plan_(plan), cta_turns_(cta_turns), num_ctas_(plan.config.grid.count()) {}

  // Runs thread blocks until there are none left, or one has failed.
  void work() {
    ThreadBlock& thread_block = thread_block_of_this_thread();
    for (;;) {
      const std::uint64_t turn = next_turn_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= num_ctas_ || has_failed_.load(std::memory_order_relaxed)) return;
      const uint3 cta_idx = coordinates_of(cta_turns_.index_at(turn), plan_.config.grid);
      std::string error = thread_block.run(plan_, cta_idx);
      if (!error.empty()) note(turn, std::move(error));
    }
  }

  // What went wrong first; empty if nothing did. Thread blocks begin in their turns, so every earlier
  // one has been run, and the answer does not depend on which core was faster.
  const std::string& error() const { return error_; }

 private:
  void note(std::uint64_t turn, std::string error) {
    const std::scoped_lock lock(mutex_);
    has_failed_ = true;
    if (!error_.empty() && error_turn_ < turn) return;
    error_ = std::move(error);
    error_turn_ = turn;
  }

  const LaunchPlan& plan_;
  const Turns& cta_turns_;
  const std::uint64_t num_ctas_;
  std::atomic<std::uint64_t> next_turn_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::string error_;
  std::uint64_t error_turn_ = 0;
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
  if (config.shared_bytes > kMaxSharedBytes) {
    throw Error(std::string("kernel ") + config.kernel + ": " +
                std::to_string(config.shared_bytes) +
                " bytes of dynamic shared memory are asked for, but a thread block has at most " +
                std::to_string(kMaxSharedBytes) + ".");
  }
  if (config.cta.count() > 1024) {
    throw Error(std::string("kernel ") + config.kernel + ": a thread block of " +
                to_string(config.cta) + " has " + std::to_string(config.cta.count()) +
                " threads, but at most 1024 are allowed.");
  }
}

void run_grid(const LaunchConfig& config, void (*run_thread)(const void* body), const void* body) {
  check_launch_limits(config);
  if (running_thread_block != nullptr) {
    throw Error(std::string("kernel ") + config.kernel + " was launched from within kernel " +
                running_config()->kernel + ", which the simulator cannot do.");
  }
  const bool checked = config.checks == Checks::kOn;
  // With the checks on, one core does all: a report is the same every time.
  const bool has_one_core = checked || config.grid.count() == 1;
  GridProgress progress;
  progress.num_unstarted = config.grid.count();
  progress.has_one_core = has_one_core;
  const LaunchPlan plan = plan_of(config, run_thread, body, progress);
  const Turns cta_turns(config.grid.count(), thread_order, thread_order_seed);
  GridRun grid_run(plan, cta_turns);
  static std::mutex one_checked_launch;  // the checks keep one record of memory
  std::unique_lock<std::mutex> lock;
  if (checked) {
    lock = std::unique_lock(one_checked_launch);
    begin_checked_launch();
    set_dynamic_shared(thread_block_of_this_thread().dynamic_shared(), config.shared_bytes);
  }
  CountedLaunch counted(config);
  if (has_one_core) {
    grid_run.work();
  } else {
    on_all_cores([&grid_run] { grid_run.work(); });
  }
  if (!grid_run.error().empty()) throw Error(grid_run.error());
  counted.finish();
}

}  // namespace pagelab::simt
