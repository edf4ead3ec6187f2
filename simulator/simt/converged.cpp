// Lanes that meet where their paths have joined again, as those of a GPU do at __activemask: how long they wait for
// each other, and, while a launch is counted, where each of them is in the code.

#include "simulator/simt/thread_block.h"
#include "simulator/simt/turns.h"

namespace pagelab::simt {
namespace {

// Lanes of a warp that wait where others run together are overtaken so often at most: a lane that spins
// at a lock comes before the one that holds it.
constexpr unsigned int kMostOvertakings = 64 * 1024;

}  // namespace

void ThreadBlock::meet_converged(const void* in,
                                 void* out,
                                 const WarpCompute& compute,
                                 const void* place) {
  converged_[running_thread_] = {in, out, compute, num_tickets_++};
  if (!code_paths_.empty()) code_paths_[running_thread_].set_place(place);
  warps_[running_thread_ / kLanesPerWarp].at_converged |= 1u << (running_thread_ % kLanesPerWarp);
  lanes_[running_thread_].pc = place;
  wait(State::kAtCollective, "__activemask", place);
}

// The lane, in meet_converged, at whose place a warp goes on: the first place of the code, because
// lanes that wait further on may be waiting for those to join them. But lanes that spin until one
// further on frees them do so for ever; once in a long while it is the turn of who has waited longest.
unsigned int ThreadBlock::next_of_converged(unsigned int warp_idx) const {
  const Warp& warp = warps_[warp_idx];
  const unsigned int first_thread = warp_idx * kLanesPerWarp;
  const bool is_turn_of_oldest =
      spin_watch_.is_suspicious() || warp.num_overtakings >= kMostOvertakings;
  const auto goes_before = [&](unsigned int lane, unsigned int other) {
    const unsigned int thread = first_thread + lane;
    const unsigned int other_thread = first_thread + other;
    if (is_turn_of_oldest) return converged_[thread].ticket < converged_[other_thread].ticket;
    if (!code_paths_.empty()) return code_paths_[thread] < code_paths_[other_thread];
    return lanes_[thread].pc < lanes_[other_thread].pc;
  };
  unsigned int next = static_cast<unsigned int>(__builtin_ctz(warp.at_converged));
  for (unsigned int rest = warp.at_converged; rest != 0; rest &= rest - 1) {
    const unsigned int lane = static_cast<unsigned int>(__builtin_ctz(rest));
    if (goes_before(lane, next)) next = lane;
  }
  return next;
}

// No lane of the warp can go on: those that wait at one place do.
void ThreadBlock::release_converged(unsigned int warp_idx) {
  Warp& warp = warps_[warp_idx];
  const unsigned int first_thread = warp_idx * kLanesPerWarp;
  const unsigned int next_thread = first_thread + next_of_converged(warp_idx);
  const void* const place = lanes_[next_thread].pc;
  WarpExchange group;
  for (unsigned int rest = warp.at_converged; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    const unsigned int thread = first_thread + lane_idx;
    if (lanes_[thread].pc != place) continue;
    if (!code_paths_.empty() && code_paths_[thread] != code_paths_[next_thread]) continue;
    group.in[lane_idx] = converged_[thread].in;
    group.out[lane_idx] = converged_[thread].out;
    group.mask |= 1u << lane_idx;
  }
  warp.at_converged &= ~group.mask;
  const bool has_overtaken = warp.at_converged != 0 && warp.num_overtakings < kMostOvertakings;
  warp.num_overtakings = has_overtaken ? warp.num_overtakings + 1 : 0;
  compute_for(converged_[next_thread].compute, group);
  make_warp_ready(warp_idx, group.mask);
}

void ThreadBlock::enter_function(const void* call) { code_paths_[running_thread_].call(call); }

void ThreadBlock::enter_block(const void* block) {
  if (is_computing_) return;
  CodePath& path = code_paths_[running_thread_];
  if (path.is_back_from_here(block)) {
    const auto do_nothing = [](const void*, const WarpExchange&) {};
    meet_converged(nullptr, nullptr, {do_nothing, nullptr}, path.place());
  }
  path.set_place(block);
}

void ThreadBlock::leave_function() { code_paths_[running_thread_].leave(); }

}  // namespace pagelab::simt
