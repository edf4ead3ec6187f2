#include "simulator/simt/happens_before.h"

#include <algorithm>

namespace pagelab::simt {

namespace {

constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 32;
constexpr std::uint32_t kMaxClock = (1u << 22) - 1;

constexpr Stamp stamp(std::uint64_t segment, unsigned int thread, std::uint32_t clock) {
  return segment << 32 | static_cast<Stamp>(thread) << 22 | clock;
}

}  // namespace

void HappensBefore::begin_launch() {
  // One launch cannot use up the other half: a billion thread blocks that do nothing take minutes.
  if (segment_ > kMaxSegments / 2) {
    segment_ = 0;
    ++age_;
  }
  ++segment_;
  launch_begin_ = stamp(segment_, 0, 0);
  first_stamps_.clear();
}

void HappensBefore::begin_thread_block(uint3 cta_idx, unsigned int num_threads) {
  num_threads_ = num_threads;
  begin_segment();
  thread_block_begin_ = segment_begin_;
  first_stamps_.push_back({thread_block_begin_, cta_idx});
}

void HappensBefore::all_threads_met() { begin_segment(); }

void HappensBefore::begin_segment() {
  ++segment_;
  segment_begin_ = stamp(segment_, 0, 0);
  const Stamp first = stamp(segment_, 0, 1);
  for (unsigned int thread = 0; thread < num_threads_; ++thread) {
    stamps_[thread] = first + (static_cast<Stamp>(thread) << 22);
  }
  for (std::uint32_t rest = warps_with_clocks_; rest != 0; rest &= rest - 1) {
    forget_warp(static_cast<unsigned int>(__builtin_ctz(rest)));
  }
  warps_with_clocks_ = 0;
}

void HappensBefore::forget_warp(unsigned int warp_idx) {
  for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
    known_[warp_idx * kLanesPerWarp + lane_idx].fill(0);
  }
}

// Vector clocks. Source: Virtual time (Mattern 1989).
bool HappensBefore::lanes_met(unsigned int first_thread, unsigned int mask) {
  warps_with_clocks_ |= 1u << (first_thread / kLanesPerWarp);
  std::array<std::uint32_t, kLanesPerWarp> joined = {};
  for (unsigned int rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    const auto& row = known_[first_thread + lane_idx];
    for (unsigned int other = 0; other < kLanesPerWarp; ++other) {
      joined[other] = std::max(joined[other], row[other]);
    }
    joined[lane_idx] = clock_of(stamps_[first_thread + lane_idx]);
  }
  for (unsigned int rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    Stamp& own = stamps_[first_thread + lane_idx];
    if (clock_of(own) == kMaxClock) return false;
    ++own;
    known_[first_thread + lane_idx] = joined;
  }
  return true;
}

uint3 HappensBefore::thread_block_of(Stamp stamp) const {
  const auto after =
      std::upper_bound(first_stamps_.begin(), first_stamps_.end(), stamp,
                       [](Stamp wanted, const FirstStamp& first) { return wanted < first.stamp; });
  return std::prev(after)->cta_idx;
}

}  // namespace pagelab::simt
