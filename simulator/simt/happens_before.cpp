#include "simulator/simt/happens_before.h"

#include <algorithm>
#include <bit>

namespace pagelab::simt {

namespace {

// Segments begin below half of all stamps, and none takes more than a quarter.
constexpr Stamp kLastBegin = 1u << 31;
constexpr std::uint32_t kMaxClock = (1u << 20) - 1;
// A multiple of every power of two that a thread block's threads are rounded up to.
constexpr Stamp kFirstStamp = 1024;

}  // namespace

void HappensBefore::begin_age() {
  ++age_;
  launch_begin_ = thread_block_begin_ = segment_end_ = kFirstStamp;
  first_stamps_.clear();
}

void HappensBefore::begin_launch() {
  if (age_ == 0 || segment_end_ > kLastBegin) begin_age();
  launch_begin_ = segment_end_;
  first_stamps_.clear();
}

void HappensBefore::begin_thread_block(uint3 cta_idx, unsigned int num_threads) {
  num_threads_ = num_threads;
  log2_threads_ = static_cast<unsigned int>(std::bit_width(num_threads - 1));
  const Stamp multiple = 1u << log2_threads_;
  segment_end_ = (segment_end_ + multiple - 1) / multiple * multiple;
  if (segment_end_ > kLastBegin) begin_age();
  thread_block_begin_ = segment_end_;
  first_stamps_.push_back({thread_block_begin_, cta_idx});
  begin_segment();
}

void HappensBefore::all_threads_met() {
  if (segment_end_ > kLastBegin) {
    const uint3 cta_idx = first_stamps_.back().cta_idx;
    begin_age();
    first_stamps_.push_back({thread_block_begin_, cta_idx});
  }
  begin_segment();
}

void HappensBefore::begin_segment() {
  stamps_of_other_ctas_ = thread_block_begin_ - launch_begin_;
  segment_begin_ = segment_end_;
  segment_end_ += 1u << log2_threads_;
  for (unsigned int thread = 0; thread < num_threads_; ++thread) {
    stamps_[thread] = segment_begin_ + thread;
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
    joined[lane_idx] = clock_of(stamps_[first_thread + lane_idx]) + 1;
  }
  for (unsigned int rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    Stamp& own = stamps_[first_thread + lane_idx];
    if (clock_of(own) == kMaxClock) return false;
    own += 1u << log2_threads_;
    segment_end_ = std::max(segment_end_, segment_begin_ + ((clock_of(own) + 1) << log2_threads_));
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
