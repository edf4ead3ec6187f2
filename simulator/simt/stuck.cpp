// The sentences about threads that do not meet: who came, who is missing, and where those are; and
// about what else is found out at the end of a thread block.

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/simt/checks.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

namespace {

// "__syncthreads at 2_warp.cuh:74"; without the line where it is not known.
std::string word_at(const char* word, const void* pc) { return word + at_line(pc); }

// "thread 7", "threads 14 to 31", "threads 0, 2, 4 to 9".
std::string list_of(const std::string& noun, const std::vector<unsigned int>& sorted) {
  std::string list;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!list.empty()) list += ", ";
    list += std::to_string(sorted[first]);
    if (last > first) list += (last == first + 1 ? " and " : " to ") + std::to_string(sorted[last]);
    first = last + 1;
  }
  return noun + (sorted.size() == 1 ? " " : "s ") + list;
}

std::string hexadecimal(unsigned int mask) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15u];
  return text;
}

}  // namespace

std::string ThreadBlock::place_of_thread(unsigned int thread) const {
  return place_ + ", thread " + to_string(lanes_[thread].thread_idx);
}

void ThreadBlock::fail_for_mask(const char* word, unsigned int mask, const void* pc) {
  fail([&] {
    return place_of_thread(running_thread_) + ": " + word_at(word, pc) + " has the mask " +
           hexadecimal(mask) + ", which leaves out the calling lane " +
           std::to_string(running_thread_ % kLanesPerWarp) +
           ". A mask names every lane that takes part, the caller among them.";
  });
}

void ThreadBlock::fail_for_spinning(const void* pc) {
  fail([&] {
    return place_of_thread(running_thread_) + ": " + word_at("an atomic", pc) +
           " spins for ever: the threads of its block have tried atomics without effect " +
           std::to_string(spin_watch_.num_fruitless()) +
           " times, and done nothing else. Was a lock never given back, or taken twice, or does it "
           "wait for another thread block? (The simulator may run one to its end before the next "
           "begins, as a GPU does when it is full.)";
  });
}

// Which static arrays a kernel has is not known before it has used them.
std::string ThreadBlock::describe_excess_of_shared() const {
  const std::size_t static_bytes = static_shared_bytes();
  const std::size_t dynamic_bytes = plan_->config.shared_bytes;
  if (static_bytes + dynamic_bytes <= kMaxSharedBytes) return "";
  return place_ + ": its static shared arrays have " + std::to_string(static_bytes) +
         " bytes, and the launch asked for " + std::to_string(dynamic_bytes) +
         " of dynamic shared memory, but a thread block has at most " +
         std::to_string(kMaxSharedBytes) + " of both.";
}

std::string ThreadBlock::describe_stuck() const {
  for (unsigned int warp_idx = 0; warp_idx < warps_.size(); ++warp_idx) {
    if (!warps_[warp_idx].meetings.empty()) return describe_stuck_meeting(warp_idx);
  }
  return describe_stuck_barrier();
}

// "__shfl_sync at 2_warp.cuh:74 with the mask 0xffffffff"; empty for a thread that has returned.
std::string ThreadBlock::waiting_place(unsigned int thread) const {
  const Lane& lane = lanes_[thread];
  if (lane.state == State::kReturned) return "";
  const std::string place = word_at(lane.waits_at, lane.pc);
  for (const Meeting& meeting : warps_[thread / kLanesPerWarp].meetings) {
    const bool is_its_meeting = (meeting.lanes.mask >> thread % kLanesPerWarp & 1u) != 0;
    if (is_its_meeting) return place + " with the mask " + hexadecimal(meeting.mask);
  }
  return place;
}

std::string ThreadBlock::describe_absent(const std::vector<unsigned int>& threads,
                                         unsigned int first_thread,
                                         const std::string& noun) const {
  // Threads at the same place are told of together, in the order of the first of each.
  std::vector<std::pair<std::string, std::vector<unsigned int>>> groups;
  for (unsigned int thread : threads) {
    const std::string place = waiting_place(thread);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& other) { return other.first == place; });
    if (group == groups.end()) group = groups.insert(groups.end(), {place, {}});
    group->second.push_back(thread - first_thread);
  }
  std::string sentence;
  for (const auto& [place, alike] : groups) {
    if (!sentence.empty()) sentence += "; ";
    sentence += list_of(noun, alike);
    if (place.empty()) {
      sentence += alike.size() == 1 ? " has returned" : " have returned";
    } else {
      sentence += alike.size() == 1 ? " waits at " : " wait at ";
      sentence += place;
    }
  }
  return sentence;
}

std::string ThreadBlock::describe_stuck_meeting(unsigned int warp_idx) const {
  // The one with the lowest lane, so that the sentence does not depend on who came first.
  const std::vector<Meeting>& meetings = warps_[warp_idx].meetings;
  const Meeting& meeting =
      *std::min_element(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
        return __builtin_ctz(a.lanes.mask) < __builtin_ctz(b.lanes.mask);
      });
  const unsigned int first_thread = warp_idx * kLanesPerWarp;
  std::vector<unsigned int> arrived;
  std::vector<unsigned int> absent;
  for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
    if ((meeting.lanes.mask >> lane_idx & 1u) != 0) {
      arrived.push_back(lane_idx);
    } else if ((meeting.mask >> lane_idx & 1u) != 0) {
      absent.push_back(first_thread + lane_idx);
    }
  }
  return place_ + ", warp " + std::to_string(warp_idx) + ": " + word_at(meeting.word, meeting.pc) +
         " with the mask " + hexadecimal(meeting.mask) +
         " waits for ever: " + list_of("lane", arrived) + " came, but " +
         describe_absent(absent, first_thread, "lane") +
         ". Every lane that the mask names must come to the same call.";
}

std::string ThreadBlock::describe_stuck_barrier() const {
  std::vector<unsigned int> absent;
  const Lane* waiting = nullptr;
  for (unsigned int thread = 0; thread < num_threads(); ++thread) {
    if (lanes_[thread].state == State::kAtBarrier) {
      if (waiting == nullptr) waiting = &lanes_[thread];
    } else {
      absent.push_back(thread);
    }
  }
  return place_ + ": " + word_at(waiting->waits_at, waiting->pc) +
         " is a divergent barrier: " + std::to_string(num_at_barrier_) + " of " +
         std::to_string(num_threads()) + " threads came, but " +
         describe_absent(absent, 0, "thread") +
         ". Every thread of the block must reach a barrier: put it outside the branch, or let a "
         "thread "
         "without work skip the work and not the barrier.";
}

// All threads wait at barriers: at the same one? The compiler may have copied a call, so it is the
// lines of the source that are compared.
void ThreadBlock::require_one_barrier() {
  const Lane& first = lanes_[0];
  for (unsigned int thread = 1; thread < num_threads(); ++thread) {
    const Lane& other = lanes_[thread];
    if (other.pc == first.pc) continue;
    const bool same_word = std::strcmp(other.waits_at, first.waits_at) == 0;
    if (same_word && plan_->config.checks == Checks::kOff) continue;
    if (same_word && source_line_of(other.pc) == source_line_of(first.pc)) continue;
    fail([&] {
      return place_ + ": threads wait at different barriers: thread 0 at " +
             word_at(first.waits_at, first.pc) + ", thread " + std::to_string(thread) + " at " +
             word_at(other.waits_at, other.pc) +
             ". Every thread of the block must reach the same barrier.";
    });
  }
}

}  // namespace pagelab::simt
