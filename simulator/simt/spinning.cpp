#include "simulator/simt/spinning.h"

#include <unwind.h>

namespace pagelab::simt {

namespace {

// Turns in a row that must find their thread in a state that it was in before: four for each of 1,024
// threads.
constexpr std::uint64_t kSameStates = 4 * 1024;
// So many are hopeless in any case: those that count their attempts in a register end here.
constexpr std::uint64_t kHopeless = 64 * 1024 * 1024;

// Atomics from one look at the other thread blocks to the next, and looks that must find all of them
// hopeless and nothing changed. One more than the first, because a block may have been freed just
// before; many while blocks have not begun, because a core that will run one may be slow to wake up.
constexpr std::uint64_t kAtomicsPerLook = 512 * 1024;
constexpr std::uint64_t kQuietLooks = 2;
constexpr std::uint64_t kQuietLooksBeforeStart = 24;

// The kernel's frame, as an unwinder of exceptions sees it: what its variables are in.
struct KernelState {
  const void* pc;         // where the kernel called
  const void* stack_end;  // of its thread
  std::uint64_t hash = 0;
  bool is_found = false;
};

void add_to_hash(std::uint64_t& hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x100000001b3u;  // FNV-1a's, of words
  hash ^= hash >> 32;
}

[[gnu::no_sanitize("address"), gnu::no_sanitize("thread")]] void add_stack(
    std::uint64_t& hash, const std::uint64_t* begin, const void* end) {
  for (const std::uint64_t* word = begin; word < end; ++word) add_to_hash(hash, *word);
}

_Unwind_Reason_Code visit_frame(_Unwind_Context* frame, void* data) {
  KernelState& state = *static_cast<KernelState*>(data);
  if (_Unwind_GetIP(frame) != reinterpret_cast<std::uintptr_t>(state.pc)) return _URC_NO_REASON;
  // The registers that a called function keeps, by their numbers in DWARF: rbx, rbp, r12 to r15.
  for (int number : {3, 6, 12, 13, 14, 15}) add_to_hash(state.hash, _Unwind_GetGR(frame, number));
  add_stack(state.hash, reinterpret_cast<const std::uint64_t*>(_Unwind_GetCFA(frame)),
            state.stack_end);
  state.is_found = true;
  return _URC_END_OF_STACK;
}

}  // namespace

void SpinWatch::begin(GridProgress& grid, std::size_t num_threads) {
  grid_ = &grid;
  lanes_.assign(num_threads, LaneHistory{});
  num_fruitless_ = 0;
  num_same_states_ = 0;
  is_marked_ = false;
  --grid_->num_unstarted;
  ++grid_->num_running;
  ++grid_->num_changes;
}

void SpinWatch::end() {
  mark(false);
  --grid_->num_running;
  ++grid_->num_changes;
}

void SpinWatch::mark(bool is_marked) {
  if (is_marked_ == is_marked) return;
  is_marked_ = is_marked;
  is_marked ? ++grid_->num_hopeless : --grid_->num_hopeless;
  ++grid_->num_changes;
}

void SpinWatch::note_state(unsigned int thread, const void* pc, const void* stack_end) {
  KernelState state = {pc, stack_end};
  _Unwind_Backtrace(visit_frame, &state);
  const bool is_same = state.is_found && lanes_[thread].states.saw(state.hash);
  num_same_states_ = is_same ? num_same_states_ + 1 : 0;
}

bool SpinWatch::is_hopeless() {
  const bool all_is_the_same = is_suspicious() && num_same_states_ >= kSameStates;
  if (!all_is_the_same && num_fruitless_ < kHopeless) {
    mark(false);
    return false;
  }
  if (grid_->has_one_core) return true;
  if (!is_marked_) {
    mark(true);
    next_look_ = num_atomics_ + kAtomicsPerLook;
    num_quiet_looks_ = 0;
    changes_seen_ = grid_->num_changes;
  }
  if (num_atomics_ < next_look_) return false;
  next_look_ = num_atomics_ + kAtomicsPerLook;
  const std::uint64_t changes = grid_->num_changes;
  const bool all_are_hopeless = grid_->num_hopeless == grid_->num_running;
  const bool is_quiet = all_are_hopeless && changes == changes_seen_;
  changes_seen_ = changes;
  num_quiet_looks_ = is_quiet ? num_quiet_looks_ + 1 : 0;
  const bool all_have_begun = grid_->num_unstarted == 0;
  return num_quiet_looks_ >= (all_have_begun ? kQuietLooks : kQuietLooksBeforeStart);
}

}  // namespace pagelab::simt
