/// \file
/// When does a thread that tries an atomic again and again, as at a lock, do so for ever? When all
/// threads of its block that can run only do the same as before, with the same numbers in their
/// registers and on their stacks, and no other thread block is left that could change what they see.
///
/// Abstracted: a GPU would go on for ever. A loop that waits without an atomic is not seen, and one that
/// counts its attempts in shared or global memory is stopped early.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pagelab::simt {

/// What the thread blocks of a launch know of each other.
struct GridProgress {
  std::atomic<std::uint64_t> num_running = 0;    ///< that have begun and not ended
  std::atomic<std::uint64_t> num_hopeless = 0;   ///< of these: seem to spin for ever
  std::atomic<std::uint64_t> num_changes = 0;    ///< of one of the two
  std::atomic<std::uint64_t> num_unstarted = 0;  ///< that have not begun
  bool has_one_core = false;                     ///< one runs at a time, so no other can help
};

/// A few numbers that were seen last.
class RecentNumbers {
 public:
  /// Remembers a number. \returns whether it was among the last few
  bool saw(std::uint64_t number) {
    for (std::uint64_t other : numbers_) {
      if (other == number) return true;
    }
    numbers_[next_] = number;
    next_ = (next_ + 1) % numbers_.size();
    return false;
  }

 private:
  std::array<std::uint64_t, 4> numbers_ = {};
  std::size_t next_ = 0;
};

/// Watches the atomics of one thread block.
class SpinWatch {
 public:
  /// A thread block begins.
  void begin(GridProgress& grid, std::size_t num_threads);
  /// It has ended, or is abandoned.
  void end();

  /// A thread has returned, or all have met at a barrier.
  void note_step() { num_fruitless_ = 0; }

  /// An atomic was done.
  /// \param thread       which did it
  /// \param has_changed  whether the memory holds something else than before
  /// \param signature    a number that tells what was done, where, and with which numbers
  /// \returns            whether it is time for another thread's turn
  bool note_atomic(unsigned int thread, bool has_changed, std::uint64_t signature) {
    if (!has_changed) {
      const bool is_repeated = lanes_[thread].atomics.saw(signature);
      num_fruitless_ = is_repeated ? num_fruitless_ + 1 : 0;
    }
    ++num_atomics_;
    return num_atomics_ % kAtomicsPerTurn == 0;
  }

  /// Whether there have been so many atomics without effect that the states of threads matter.
  bool is_suspicious() const { return num_fruitless_ >= kSuspicious; }
  /// If so, call this where a thread gives its turn away.
  /// \param thread     which
  /// \param pc         where the kernel called
  /// \param stack_end  the end of its stack
  void note_state(unsigned int thread, const void* pc, const void* stack_end);
  /// Whether all that the thread block does is spin, for ever.
  bool is_hopeless();

  /// Atomics without effect since something else happened.
  std::uint64_t num_fruitless() const { return num_fruitless_; }

 private:
  // Lanes that spin let those run that hold what they wait for. A prime, so that it is not always the
  // same of several atomics in a loop that gives the turn away.
  static constexpr std::uint64_t kAtomicsPerTurn = 61;
  // Atomics without effect after which a closer look is worth its time.
  static constexpr std::uint64_t kSuspicious = 64 * 1024;

  struct LaneHistory {
    RecentNumbers atomics;  // signatures of those without effect
    RecentNumbers states;   // at its turns
  };

  void mark(bool is_marked);

  GridProgress* grid_ = nullptr;
  std::vector<LaneHistory> lanes_;
  std::uint64_t num_atomics_ = 0;
  std::uint64_t num_fruitless_ = 0;    // of the same kind as one of the thread's last
  std::uint64_t num_same_states_ = 0;  // turns in a row, of any thread, that found nothing new
  std::uint64_t next_look_ = 0;        // at the other thread blocks, when so many atomics are done
  std::uint64_t num_quiet_looks_ = 0;  // in a row that have found all of them hopeless
  std::uint64_t changes_seen_ = 0;
  bool is_marked_ = false;  // counted in num_hopeless
};

}  // namespace pagelab::simt
