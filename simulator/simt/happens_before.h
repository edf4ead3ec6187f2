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

/// Who, and when: a thread between two of its meetings with others. A *segment* begins with every thread
/// block and every barrier, and in it each thread has a clock, which counts its `__syncwarp`s since then:
///
///     stamp = where the segment begins + clock · threads of a thread block + thread
///
/// with the threads rounded up to a power of two. Segments begin where the last one's highest clock ended, so
/// that stamps of later segments are greater; 0 is before everything.
using Stamp = std::uint32_t;

/// The meetings of the launch that is under way.
class HappensBefore {
 public:
  /// A launch begins: all accesses so far come before it.
  void begin_launch();
  /// How often stamps have begun anew, at the beginning of a segment: older ones mean nothing then and must be
  /// forgotten. That is where half of all stamps are used up, which takes minutes.
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
    return clock_of(earlier) < known_[me][other % kLanesPerWarp];
  }
  /// Whether that is so because an access was made in an earlier launch, or before a barrier, or by the same
  /// thread. False otherwise, though `__syncwarp`s may order the two.
  bool is_plainly_before(Stamp earlier, Stamp mine) const {
    const bool is_of_another_thread_block = earlier - launch_begin_ < stamps_of_other_ctas_;
    return !is_of_another_thread_block && (earlier < segment_begin_ || earlier == mine);
  }
  /// Whether there has been a `__syncwarp` since the last barrier.
  bool have_lanes_met() const { return warps_with_clocks_ != 0; }
  /// Whether an access was made in an earlier launch, or never.
  bool is_of_earlier_launch(Stamp stamp) const { return stamp < launch_begin_; }
  /// Whether an access was made in the running thread block.
  bool is_of_this_thread_block(Stamp stamp) const { return stamp >= thread_block_begin_; }
  /// The thread of a stamp of this launch: its index in its thread block.
  unsigned int thread_of(Stamp stamp) const { return stamp & ((1u << log2_threads_) - 1); }
  /// The thread block of a stamp of this launch.
  uint3 thread_block_of(Stamp stamp) const;

 private:
  struct FirstStamp {
    Stamp stamp;
    uint3 cta_idx;
  };

  // The clock of a stamp of this segment.
  std::uint32_t clock_of(Stamp stamp) const { return (stamp - segment_begin_) >> log2_threads_; }

  void begin_segment();
  void begin_age();
  void forget_warp(unsigned int warp_idx);

  unsigned int age_ = 0;
  Stamp launch_begin_ = 0;          // stamps below are of earlier launches
  Stamp thread_block_begin_ = 0;    // stamps from here on are of the running thread block
  Stamp stamps_of_other_ctas_ = 0;  // so many lie between the two
  Stamp segment_begin_ = 0;         // stamps from here on have no barrier after them
  Stamp segment_end_ = 0;           // no stamp so far is as great
  unsigned int log2_threads_ = 0;   // of a thread block, rounded up
  unsigned int num_threads_ = 0;
  std::uint32_t warps_with_clocks_ = 0;  // where lanes have met since the barrier
  std::array<Stamp, 1024> stamps_ = {};
  // Row `thread`: so many clocks of each lane of its warp, from 0, come before what it does now.
  std::array<std::array<std::uint32_t, kLanesPerWarp>, 1024> known_ = {};
  std::vector<FirstStamp> first_stamps_;  // of the thread blocks of this launch
};

}  // namespace pagelab::simt
