#include "simulator/simt/thread_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/simt/checks.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/turns.h"

namespace pagelab::simt {

constinit thread_local ThreadBlock* running_thread_block = nullptr;

namespace {

constexpr std::size_t kSharedAlignment = 4096;  // as strong as any instruction asks for

// While it lives, this host thread runs a thread block.
class RunningScope {
 public:
  explicit RunningScope(ThreadBlock* thread_block) { running_thread_block = thread_block; }
  ~RunningScope() { running_thread_block = nullptr; }
};

}  // namespace

void ThreadBlock::FreeShared::operator()(std::byte* bytes) const {
  ::operator delete (bytes, std::align_val_t{kSharedAlignment});
}

ThreadBlock::ThreadBlock()
    : ready_(kMaxThreads),
      main_context_(context_of_this_thread()),
      dynamic_shared_(static_cast<std::byte*>(::operator new (
          kMaxSharedBytes + 2 * kSharedGuardBytes, std::align_val_t{kSharedAlignment}))) {}

std::byte* ThreadBlock::dynamic_shared() { return dynamic_shared_.get() + kSharedGuardBytes; }

ThreadBlock::~ThreadBlock() = default;

std::string ThreadBlock::run(const LaunchPlan& plan, uint3 cta_idx) {
  begin(plan, cta_idx);
  const RunningScope scope(this);
  const bool checked = plan.config.checks == Checks::kOn;
  if (checked) pagelab::simt::begin_thread_block();
  resume_next(main_context_);  // comes back when no thread is ready, or the launch has failed
  if (make_sentence_.call != nullptr) {
    const MakeSentence make = std::exchange(make_sentence_, {});
    error_ = make.call(make.data);
  } else if (num_returned_ < num_threads()) {
    error_ = describe_stuck();
  } else if (checked) {
    error_ = describe_excess_of_shared();
  }
  if (!error_.empty()) abandon_fibers();
  spin_watch_.end();
  if (checked) pagelab::simt::end_thread_block();
  return std::exchange(error_, "");
}

void ThreadBlock::begin(const LaunchPlan& plan, uint3 cta_idx) {
  plan_ = &plan;
  spin_watch_.begin(*plan.progress, plan.config.cta.count());
  gridDim = plan.config.grid;
  blockDim = plan.config.cta;
  blockIdx = cta_idx;
  place_ = std::string("kernel ") + plan.config.kernel + ", thread block " + to_string(cta_idx);
  num_threads_ = static_cast<unsigned int>(plan.config.cta.count());
  lanes_.assign(num_threads_, Lane{});
  warps_.assign((num_threads_ + kLanesPerWarp - 1) / kLanesPerWarp, Warp{});
  converged_.assign(num_threads_, Converged{});
  code_paths_.assign(is_counting() ? num_threads_ : 0, CodePath{});
  pending_copies_.assign(num_threads_, PendingCopies{});
  for (unsigned int thread = 0; thread < num_threads_; ++thread) {
    lanes_[thread].thread_idx = plan.thread_idx[thread];
    Warp& warp = warps_[thread / kLanesPerWarp];
    warp.existing_lanes |= 1u << (thread % kLanesPerWarp);
    ++warp.num_runnable;
  }
  ready_begin_ = 0;
  ready_end_ = 0;
  num_returned_ = 0;
  num_at_barrier_ = 0;
  is_computing_ = false;
  barrier_count_ = 0;
  for (std::uint16_t thread : plan.thread_turns) make_ready(thread);
  std::memset(dynamic_shared(), kPoison, plan.config.shared_bytes);
}

Fiber* ThreadBlock::take_fiber() {
  if (idle_fibers_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(fiber_main, this, fibers_.size()));
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_fibers_.back();
  idle_fibers_.pop_back();
  return fiber;
}

// After a failure: threads stopped somewhere in the kernel never go on.
void ThreadBlock::abandon_fibers() {
  for (Lane& lane : lanes_) {
    if (lane.fiber == nullptr) continue;
    lane.fiber->restart();
    idle_fibers_.push_back(lane.fiber);
    lane.fiber = nullptr;
  }
}

// What every fiber does: it runs threads from their first step to their last.
void ThreadBlock::fiber_main(void* thread_block) {
  ThreadBlock& self = *static_cast<ThreadBlock*>(thread_block);
  for (;;) {
    self.run_one_thread();
    self.thread_returned();
  }
}

// An exception ends at the foot of its stack, so it becomes the launch's sentence here. The handler
// is left before the fiber is: what is being handled belongs to the host thread, not to the fiber.
void ThreadBlock::run_one_thread() {
  try {
    plan_->run_thread(plan_->body);
    return;
  } catch (const Error& error) {
    error_ = error.what();
  } catch (const std::exception& exception) {
    error_ = place_of_thread(running_thread_) + " threw an exception: " + exception.what();
  } catch (...) {
    error_ = place_of_thread(running_thread_) + " threw something that is no exception.";
  }
  fail([this] { return error_; });
}

// The fiber of a thread that has returned goes on with one that has not begun, or idles.
void ThreadBlock::thread_returned() {
  Lane& lane = lanes_[running_thread_];
  Fiber* const fiber = std::exchange(lane.fiber, nullptr);
  lane.state = State::kReturned;
  ++num_returned_;
  spin_watch_.note_step();
  one_less_runnable(running_thread_ / kLanesPerWarp);
  if (ready_begin_ != ready_end_) {
    Lane& next = lanes_[ready_[ready_begin_ % kMaxThreads]];
    if (next.fiber == nullptr) next.fiber = fiber;
    if (next.fiber == fiber) {
      running_thread_ = ready_[ready_begin_++ % kMaxThreads];
      next.state = State::kRunning;
      threadIdx = next.thread_idx;
      return;
    }
  }
  idle_fibers_.push_back(fiber);
  resume_next(fiber->context());
}

void ThreadBlock::one_less_runnable(unsigned int warp_idx) {
  Warp& warp = warps_[warp_idx];
  --warp.num_runnable;
  if (warp.num_runnable == 0 && warp.at_converged != 0) release_converged(warp_idx);
}

void ThreadBlock::make_ready(unsigned int thread) {
  lanes_[thread].state = State::kReady;
  ready_[ready_end_++ % kMaxThreads] = static_cast<std::uint16_t>(thread);
}

// The lanes of `mask`, in the order of the plan.
void ThreadBlock::make_warp_ready(unsigned int warp_idx, unsigned int mask) {
  warps_[warp_idx].num_runnable += static_cast<std::uint8_t>(__builtin_popcount(mask));
  for (std::uint8_t lane : plan_->lane_turns[warp_idx]) {
    if ((mask >> lane & 1u) != 0) make_ready(warp_idx * kLanesPerWarp + lane);
  }
}

void ThreadBlock::note_state_for_spin_watch(const void* pc) {
  const FiberContext& stack = lanes_[running_thread_].fiber->context();
  const std::byte* const begin = static_cast<const std::byte*>(stack.stack_begin);
  spin_watch_.note_state(running_thread_, pc, begin + stack.stack_bytes);
}

void ThreadBlock::give_turn_away() {
  if (ready_begin_ == ready_end_) return;
  const unsigned int thread = running_thread_;
  make_ready(thread);
  resume_next(lanes_[thread].fiber->context());
}

int ThreadBlock::barrier(const char* word, BarrierVote vote, int predicate, const void* pc) {
  ++num_at_barrier_;
  if (predicate != 0) ++barrier_count_;
  if (num_at_barrier_ == num_threads()) {
    // The last thread lets all go on, itself in its turn.
    Lane& lane = lanes_[running_thread_];
    lane.state = State::kAtBarrier;
    lane.waits_at = word;
    lane.pc = pc;
    --warps_[running_thread_ / kLanesPerWarp].num_runnable;
    release_barrier();
    resume_next(lane.fiber->context());
  } else {
    wait(State::kAtBarrier, word, pc);
  }
  switch (vote) {
    case BarrierVote::kCount:
      return static_cast<int>(barrier_result_);
    case BarrierVote::kAnd:
      return barrier_result_ == num_threads() ? 1 : 0;
    case BarrierVote::kOr:
      return barrier_result_ != 0 ? 1 : 0;
    default:
      return 0;
  }
}

void ThreadBlock::release_barrier() {
  require_one_barrier();
  spin_watch_.note_step();
  if (plan_->config.checks == Checks::kOn) all_threads_met();
  if (is_counting()) count_barrier();
  barrier_result_ = std::exchange(barrier_count_, 0);
  num_at_barrier_ = 0;
  for (Warp& warp : warps_) {
    warp.num_runnable = static_cast<std::uint8_t>(__builtin_popcount(warp.existing_lanes));
  }
  for (std::uint16_t thread : plan_->thread_turns) make_ready(thread);
}

void ThreadBlock::compute_for(const WarpCompute& compute, const WarpExchange& lanes) {
  is_computing_ = true;
  compute.run(compute.compute, lanes);
  is_computing_ = false;
}

// It is an instruction of each warp.
void ThreadBlock::count_barrier() const {
  for (std::size_t thread = 0; thread < lanes_.size(); thread += kLanesPerWarp) {
    count_word(lanes_[thread].waits_at, lanes_[thread].pc);
  }
}

// That of these lanes at this word, opened if they are the first. Those before have mostly come with the same
// literal: its address tells more quickly than its text.
[[gnu::always_inline]] inline ThreadBlock::Meeting& ThreadBlock::meeting_of(Warp& warp,
                                                                            const char* word,
                                                                            unsigned int mask,
                                                                            const void* pc) {
  for (Meeting& meeting : warp.meetings) {
    if (meeting.word != word && std::strcmp(meeting.word, word) != 0) continue;
    if (meeting.mask == mask) return meeting;
  }
  Meeting& opened = warp.meetings.emplace_back();
  opened.word = word;
  opened.mask = mask;
  opened.pc = pc;
  return opened;
}

void ThreadBlock::meet(const char* word,
                       unsigned int mask,
                       const void* in,
                       void* out,
                       const WarpCompute& compute,
                       const void* pc) {
  const unsigned int warp_idx = running_thread_ / kLanesPerWarp;
  const unsigned int lane_idx = running_thread_ % kLanesPerWarp;
  if ((mask >> lane_idx & 1u) == 0) fail_for_mask(word, mask, pc);
  Warp& warp = warps_[warp_idx];
  const unsigned int expected = mask & warp.existing_lanes;
  Meeting& meeting = meeting_of(warp, word, expected, pc);
  meeting.lanes.in[lane_idx] = in;
  meeting.lanes.out[lane_idx] = out;
  meeting.lanes.mask |= 1u << lane_idx;
  if (meeting.lanes.mask != expected) {
    wait(State::kAtCollective, word, pc);
    return;
  }
  // The last lane computes, lets the others go on, and goes on itself.
  if (is_counting()) count_word(word, pc);
  compute_for(compute, meeting.lanes);
  warp.meetings.erase(warp.meetings.begin() + (&meeting - warp.meetings.data()));
  make_warp_ready(warp_idx, expected & ~(1u << lane_idx));
}

void ThreadBlock::leave_kernel(std::string (*sentence)(const void*), const void* data) {
  make_sentence_ = {sentence, data};
  switch_context(lanes_[running_thread_].fiber->context(), main_context_);
  __builtin_unreachable();  // run() abandons this fiber
}

const LaunchConfig* running_config() {
  return running_thread_block == nullptr ? nullptr : &running_thread_block->config();
}

unsigned int running_thread() { return running_thread_block->running_thread(); }

unsigned int threads_per_cta() { return running_thread_block->num_threads(); }

std::string place_of_running_thread() {
  return running_thread_block->place_of_thread(running_thread());
}

void leave_kernel(std::string (*sentence)(const void*), const void* data) {
  running_thread_block->leave_kernel(sentence, data);
}

}  // namespace pagelab::simt
