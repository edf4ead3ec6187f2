#include "lessons/checker/kernel_check.h"

#include <cstdio>
#include <utility>

#include "reference/contract/error.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/launch.h"

namespace pagelab::lessons {

using simt::device_memory;
using simt::MemoryCounts;
using simt::MemoryKind;

CheckedArray::CheckedArray(const std::string& name, int count)
    : count_(count),
      address_(static_cast<float*>(device_memory().allocate(count * sizeof(float), name))) {}

CheckedArray::CheckedArray(const std::string& name, const std::vector<float>& values)
    : CheckedArray(name, static_cast<int>(values.size())) {
  device_memory().copy_to_device(address_, values.data(), values.size() * sizeof(float));
}

CheckedArray::~CheckedArray() { device_memory().free(address_); }

std::vector<double> CheckedArray::values() const {
  std::vector<float> copied(count_);
  device_memory().copy_to_host(copied.data(), address_, copied.size() * sizeof(float));
  return {copied.begin(), copied.end()};
}

CheckedInput::CheckedInput(const std::string& name, const void* values, std::size_t bytes)
    : address_(device_memory().allocate(bytes, name)) {
  device_memory().copy_to_device(address_, values, bytes);
}

CheckedInput::~CheckedInput() { device_memory().free(address_); }

void launch_soundly(const TaskCheck& task, const std::function<void()>& launch) {
  try {
    launch();
  } catch (const Error& error) {
    task.expect(false, "nothing that the simulator finds wrong", error.what());
  }
}

void expect_a_launch(const TaskCheck& task, const std::function<void()>& launch) {
  const simt::ScopedCounting counting;
  try {
    launch();
  } catch (const Error&) {
    return;  // there was one, and launch_soundly will tell what is wrong with it
  }
  task.expect(!counting.launches().empty(), "a kernel that does the work",
              "no kernel was launched");
}

void in_every_order(const std::function<void(const std::string& order)>& judge) {
  using simt::ThreadOrder;
  const std::vector<std::pair<ThreadOrder, std::string>> orders = {
      {ThreadOrder::kAscending, "threads run in ascending order"},
      {ThreadOrder::kDescending, "threads run in descending order"},
      {ThreadOrder::kShuffled, "threads run in random order with seed 1"}};
  for (const auto& [order, text] : orders) {
    const simt::ScopedThreadOrder scope(order, 1);
    judge(text);
  }
}

namespace {

MemoryCounts global_of(const simt::Counters& counters) {
  MemoryCounts counts = counters.of(MemoryKind::kGlobalLoad);
  counts += counters.of(MemoryKind::kGlobalStore);
  return counts;
}

MemoryCounts shared_of(const simt::Counters& counters) {
  MemoryCounts counts = counters.of(MemoryKind::kSharedLoad);
  counts += counters.of(MemoryKind::kSharedStore);
  return counts;
}

std::string ratio(std::uint64_t count, std::uint64_t requests) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g",
                static_cast<double>(count) / static_cast<double>(requests));
  return text;
}

}  // namespace

std::uint64_t CountedLaunches::global_requests() const { return global_of(totals).requests; }
std::uint64_t CountedLaunches::global_sectors() const { return global_of(totals).sectors; }
std::uint64_t CountedLaunches::shared_requests() const { return shared_of(totals).requests; }
std::uint64_t CountedLaunches::bank_conflicts() const { return shared_of(totals).conflicts; }

std::uint64_t CountedLaunches::barriers_of_a_warp() const {
  if (num_warps == 0) return 0;
  return (totals.of(simt::WordKind::kBarrier) + num_warps - 1) / num_warps;
}

CountedLaunches count_launches(const std::function<void()>& launch) {
  const simt::ScopedCounting counting;
  launch();
  CountedLaunches counted;
  for (const simt::LaunchCounters& one : counting.launches()) {
    counted.totals += one.totals;
    counted.lines.insert(counted.lines.end(), one.lines.begin(), one.lines.end());
    const std::uint64_t warps_per_cta =
        (one.cta.count() + simt::kLanesPerWarp - 1) / simt::kLanesPerWarp;
    counted.num_warps += one.grid.count() * warps_per_cta;
  }
  return counted;
}

std::string cost_of(const CountedLaunches& counted) {
  return "global memory " + std::to_string(counted.global_requests()) + " requests, " +
         std::to_string(counted.global_sectors()) + " sectors; shared memory " +
         std::to_string(counted.shared_requests()) + " requests, " +
         std::to_string(counted.bank_conflicts()) + " bank conflicts; barriers " +
         std::to_string(counted.barriers_of_a_warp());
}

std::string sectors_by_line(const CountedLaunches& counted) {
  std::string text;
  for (const simt::LineCounters& line : counted.lines) {
    const MemoryCounts global = global_of(line.counters);
    if (global.requests == 0) continue;
    text += (text.empty() ? "" : ", ") + line.line + " has " +
            ratio(global.sectors, global.requests) + (text.empty() ? " sectors a request" : "");
  }
  return text;
}

std::string conflicts_by_line(const CountedLaunches& counted) {
  std::string text;
  for (const simt::LineCounters& line : counted.lines) {
    const MemoryCounts shared = shared_of(line.counters);
    if (shared.conflicts == 0) continue;
    text += (text.empty() ? "" : ", ") + line.line + " has " +
            ratio(shared.conflicts, shared.requests) +
            (text.empty() ? " bank conflicts a request" : "");
  }
  return text;
}

}  // namespace pagelab::lessons
