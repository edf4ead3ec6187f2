/// \file
/// One thread block while it runs. Its threads take turns on one core: each runs until it returns or
/// waits, for all threads at a barrier or for lanes of its warp at a collective (a shuffle, a vote,
/// an mma). Then the next ready one goes on. When none is ready and some have not returned, those
/// wait for ever, and the launch fails with a sentence that says who waits where.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/simt/code_path.h"
#include "simulator/simt/dim3.h"
#include "simulator/simt/fiber.h"
#include "simulator/simt/launch.h"
#include "simulator/simt/pending_copies.h"
#include "simulator/simt/spinning.h"

namespace pagelab::simt {

/// What becomes of a barrier's predicates.
enum class BarrierVote : std::uint8_t {
  kNone,   ///< __syncthreads
  kCount,  ///< __syncthreads_count
  kAnd,    ///< __syncthreads_and
  kOr,     ///< __syncthreads_or
};

/// What lanes that met bring along and take away: one pointer a lane, null for those not among them.
struct WarpExchange {
  // Plain arrays: an operator[] of the library would be compiled with the kernel's hooks.
  const void* in[kLanesPerWarp] = {};  ///< what each lane brought
  void* out[kLanesPerWarp] = {};       ///< where each lane expects its result
  unsigned int mask = 0;               ///< the lanes that met
};

/// What is done once when all lanes have come.
struct WarpCompute {
  void (*run)(const void* compute, const WarpExchange& lanes) = nullptr;  ///< called with `compute`
  const void* compute = nullptr;                                          ///< its own data
};

/// Threads of a launch in the order in which they take their turns.
struct LaunchPlan {
  LaunchConfig config;                      ///< what was launched
  void (*run_thread)(const void* body);     ///< the kernel
  const void* body;                         ///< its arguments
  GridProgress* progress;                   ///< of its thread blocks
  std::vector<uint3> thread_idx;            ///< coordinates of each flat thread index
  std::vector<std::uint16_t> thread_turns;  ///< flat thread indices, first to run first
  /// The same for the lanes of each warp.
  std::vector<std::vector<std::uint8_t>> lane_turns;
};

/// A thread block under way on this host thread. One object runs many, one after the other.
class ThreadBlock {
 public:
  ThreadBlock();
  ~ThreadBlock();
  ThreadBlock(const ThreadBlock&) = delete;
  ThreadBlock& operator=(const ThreadBlock&) = delete;

  /// Runs every thread of one thread block to its end.
  /// \param plan     of the launch
  /// \param cta_idx  which thread block
  /// \returns        what went wrong, in a sentence; empty if nothing did
  std::string run(const LaunchPlan& plan, uint3 cta_idx);

  // What the running thread calls.

  /// Waits until every thread of the block has come here.
  /// \param word       CUDA's, for messages
  /// \param vote       what to make of the predicates
  /// \param predicate  this thread's
  /// \param pc         where it waits
  /// \returns          what `vote` says
  int barrier(const char* word, BarrierVote vote, int predicate, const void* pc);

  /// Waits until every lane of `mask` has come with the same word and mask; the last one computes.
  /// \param word     CUDA's, for messages; lanes that wait with another word do not meet these
  /// \param mask     lanes of this warp, this one among them
  /// \param in       what this lane brings
  /// \param out      where it wants its result
  /// \param compute  run once
  /// \param pc       where it waits
  void meet(const char* word,
            unsigned int mask,
            const void* in,
            void* out,
            const WarpCompute& compute,
            const void* pc);

  /// Waits until no lane of this warp can go on without waiting, then computes for those that wait
  /// at the same place: the lanes that a GPU runs together where their paths have joined again.
  /// \param in       what this lane brings
  /// \param out      where it wants its result
  /// \param compute  run once for each group
  /// \param place    where it waits; the lowest goes on first
  void meet_converged(const void* in, void* out, const WarpCompute& compute, const void* place);

  /// While a launch is counted: the running thread calls a function, and comes back.
  /// \param call  where it will return to
  void enter_function(const void* call);
  /// The same: it goes on with another block of the code.
  /// \param block  an address in it
  void enter_block(const void* block);
  void leave_function();  ///< \see enter_function

  /// After an atomic: once in a while the others of the thread block have their turn, so that a thread
  /// which spins at a lock does not keep the one from running that holds it. Fails where all spin for
  /// ever (spinning.h).
  /// \param has_changed  whether the memory holds something else than before
  /// \param signature    a number that tells what was done, where, and with which numbers
  /// \param pc           where the atomic is
  void after_atomic(bool has_changed, std::uint64_t signature, const void* pc) {
    if (!spin_watch_.note_atomic(running_thread_, has_changed, signature)) return;
    if (spin_watch_.is_suspicious()) note_state_for_spin_watch(pc);
    if (!has_changed && spin_watch_.is_hopeless()) fail_for_spinning(pc);
    give_turn_away();
  }

  /// Lets the others of the thread block run first.
  void give_turn_away();

  /// The running thread's asynchronous copies (cp_async.h).
  PendingCopies& pending_copies() { return pending_copies_[running_thread_]; }

  /// "kernel scale, thread block (0, 0, 0), thread (3, 0, 0)".
  std::string place_of_thread(unsigned int thread) const;

  /// As the function of the same name in running_lane.h.
  [[noreturn]] void leave_kernel(std::string (*sentence)(const void* data), const void* data);

  const LaunchConfig& config() const { return plan_->config; }     ///< what was launched
  unsigned int running_thread() const { return running_thread_; }  ///< flat index
  unsigned int num_threads() const { return num_threads_; }        ///< of it
  std::byte* dynamic_shared();                                     ///< kMaxSharedBytes of them

 private:
  enum class State : std::uint8_t { kReady, kRunning, kAtBarrier, kAtCollective, kReturned };

  // A thread of the block. It has a fiber from its first step to its last.
  struct Lane {
    uint3 thread_idx;
    State state = State::kReady;
    Fiber* fiber = nullptr;
    const char* waits_at = nullptr;  // the word
    const void* pc = nullptr;        // where it waits
  };

  // Lanes on their way to one collective.
  struct Meeting {
    const char* word = nullptr;
    unsigned int mask = 0;     // who is expected
    const void* pc = nullptr;  // of the first that came
    WarpExchange lanes;
  };

  struct Warp {
    unsigned int existing_lanes = 0;   // fewer than 32 in a last one
    std::uint8_t num_runnable = 0;     // lanes that neither wait nor have returned
    std::vector<Meeting> meetings;     // that lack a lane
    unsigned int at_converged = 0;     // lanes in meet_converged
    unsigned int num_overtakings = 0;  // of lanes in meet_converged by others, in a row
  };

  struct FreeShared {
    void operator()(std::byte* bytes) const;
  };

  // What a thread in meet_converged brought.
  struct Converged {
    const void* in;
    void* out;
    WarpCompute compute;
    std::uint64_t ticket;  // the longer it waits, the smaller
  };

  // What makes the sentence about a thread that has left the kernel.
  struct MakeSentence {
    std::string (*call)(const void*) = nullptr;
    const void* data = nullptr;
  };

  static void fiber_main(void* thread_block);
  void begin(const LaunchPlan& plan, uint3 cta_idx);
  void abandon_fibers();
  void run_one_thread();
  void thread_returned();
  void resume_next(FiberContext& from);
  void wait(State state, const char* word, const void* pc);
  void one_less_runnable(unsigned int warp_idx);
  void make_ready(unsigned int thread);
  void make_warp_ready(unsigned int warp_idx, unsigned int mask);
  void release_barrier();
  void count_barrier() const;
  void compute_for(const WarpCompute& compute, const WarpExchange& lanes);
  void release_converged(unsigned int warp_idx);
  unsigned int next_of_converged(unsigned int warp_idx) const;
  static Meeting& meeting_of(Warp& warp, const char* word, unsigned int mask, const void* pc);
  Fiber* take_fiber();
  void note_state_for_spin_watch(const void* pc);

  // stuck.cpp: the sentences about threads that do not meet.
  [[noreturn]] void fail_for_spinning(const void* pc);
  [[noreturn]] void fail_for_mask(const char* word, unsigned int mask, const void* pc);
  std::string describe_stuck() const;
  std::string describe_excess_of_shared() const;
  std::string describe_stuck_meeting(unsigned int warp_idx) const;
  std::string describe_stuck_barrier() const;
  std::string waiting_place(unsigned int thread) const;
  std::string describe_absent(const std::vector<unsigned int>& threads,
                              unsigned int first_thread,
                              const std::string& noun) const;
  void require_one_barrier();

  const LaunchPlan* plan_ = nullptr;
  std::string place_;  // "kernel scale, thread block (0, 0, 0)"
  std::string error_;
  MakeSentence make_sentence_;
  std::vector<Lane> lanes_;
  std::vector<Warp> warps_;
  std::vector<PendingCopies>
      pending_copies_;                // [num_threads]; those of a thread that returns are lost
  std::vector<Converged> converged_;  // [num_threads]
  std::vector<CodePath> code_paths_;  // [num_threads] while the launch is counted
  std::uint64_t num_tickets_ = 0;
  bool is_computing_ = false;         // for lanes that met: not a step of the running thread
  std::vector<std::uint16_t> ready_;  // a ring: each thread is in it at most once
  std::uint32_t ready_begin_ = 0;
  std::uint32_t ready_end_ = 0;
  unsigned int num_threads_ = 0;
  unsigned int running_thread_ = 0;
  SpinWatch spin_watch_;
  unsigned int num_returned_ = 0;
  unsigned int num_at_barrier_ = 0;
  unsigned int barrier_count_ = 0;   // predicates that were true so far
  unsigned int barrier_result_ = 0;  // of the barrier that was passed last
  FiberContext main_context_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_fibers_;
  std::unique_ptr<std::byte, FreeShared> dynamic_shared_;
};

}  // namespace pagelab::simt
