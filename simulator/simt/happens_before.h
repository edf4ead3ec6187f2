/// \file
/// Which of two accesses came first for certain. A launch comes after the launches before it; within
/// a thread block `__syncthreads` orders what lies before and after it, and within a warp
/// `__syncwarp` does so for the lanes that met. Everything else, the order in which the simulator
/// happens to run threads above all, is no order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/simt/dim3.h"
#include "simulator/simt/launch.h"

namespace pagelab::simt {

/// Who, and when: a thread between two of its meetings with others. 32 bits count *segments*, which
/// begin with every thread block and every barrier; 10 are the thread's index in its thread block;
/// 22 are its clock, which counts the `__syncwarp`s since the barrier, from 1. Later stamps of one
/// thread are greater; 0 is before everything.
using Stamp = std::uint64_t;

/// The thread of a stamp: its index in its thread block.
constexpr unsigned int thread_of(Stamp stamp) {
  return static_cast<unsigned int>(stamp >> 22) % 1024;
}
/// The clock of a stamp.
constexpr std::uint32_t clock_of(Stamp stamp) {
  return static_cast<std::uint32_t>(stamp) & 0x3fffff;
}

/// The meetings of the launch that is under way.
class HappensBefore {
 public:
  /// A launch begins: all accesses so far come before it.
  void begin_launch();
  /// How often the count of segments has begun again; older stamps mean nothing then.
  unsigned int age() const { return age_; }
  /// A thread block begins, ordered with no other of this launch.
  /// \param cta_idx      for thread_block_of
  /// \param num_threads  1 to 1024
  void begin_thread_block(uint3 cta_idx, unsigned int num_threads);
  /// All its threads met at a barrier.
  void all_threads_met();
  /// Lanes of one warp met.
  /// \param first_thread  the thread that is lane 0
  /// \param mask          the lanes
  /// \returns             false if a clock has run out of bits
  bool lanes_met(unsigned int first_thread, unsigned int mask);

  /// The stamp of what a thread does now.
  Stamp stamp_of(unsigned int thread) const { return stamps_[thread]; }

  /// Whether an access came before what a thread of the running thread block does now.
  /// \param earlier  stamp of the access
  /// \param mine     stamp of the thread now
  bool is_before(Stamp earlier, Stamp mine) const {
    if (earlier < segment_begin_) return earlier < launch_begin_ || earlier >= thread_block_begin_;
    const unsigned int other = thread_of(earlier);
    const unsigned int me = thread_of(mine);
    if (other == me) return true;
    if (other / kLanesPerWarp != me / kLanesPerWarp) return false;
    return known_[me][other % kLanesPerWarp] >= clock_of(earlier);
  }
  /// Whether an access was made in an earlier launch, or never.
  bool is_of_earlier_launch(Stamp stamp) const { return stamp < launch_begin_; }
  /// Whether an access was made in the running thread block.
  bool is_of_this_thread_block(Stamp stamp) const { return stamp >= thread_block_begin_; }
  /// The thread block of a stamp of this launch.
  uint3 thread_block_of(Stamp stamp) const;

 private:
  struct FirstStamp {
    Stamp stamp;
    uint3 cta_idx;
  };

  void begin_segment();
  void forget_warp(unsigned int warp_idx);

  std::uint64_t segment_ = 0;
  unsigned int age_ = 0;
  Stamp launch_begin_ = 0;        // stamps below are of earlier launches
  Stamp thread_block_begin_ = 0;  // stamps from here on are of the running thread block
  Stamp segment_begin_ = 0;       // stamps from here on have no barrier after them
  unsigned int num_threads_ = 0;
  std::uint32_t warps_with_clocks_ = 0;  // where lanes have met since the barrier
  std::array<Stamp, 1024> stamps_ = {};
  // Row `thread`: up to which clock of each lane of its warp the accesses come before its own.
  std::array<std::array<std::uint32_t, kLanesPerWarp>, 1024> known_ = {};
  std::vector<FirstStamp> first_stamps_;  // of the thread blocks of this launch
};

}  // namespace pagelab::simt
