#include "simulator/simt/checks.h"

#include "simulator/simt/access_check.h"
#include "simulator/simt/running_lane.h"

namespace pagelab::simt {

namespace {

// Shared memory lies at other addresses for every host thread.
CheckedMemory& memory_of_this_thread() {
  static thread_local CheckedMemory memory;
  return memory;
}

}  // namespace

void begin_checked_launch() {
  happens_before.begin_launch();
  memory_of_this_thread().begin_launch(happens_before.age());
  forget_atomics();
}

void set_dynamic_shared(std::byte* begin, std::size_t bytes) {
  memory_of_this_thread().set_dynamic_shared(begin, bytes);
}

void begin_thread_block() {
  happens_before.begin_thread_block(blockIdx, static_cast<unsigned int>(blockDim.count()));
  memory_of_this_thread().set_age(happens_before.age());
  memory_of_this_thread().begin_thread_block();
  checked_memory = &memory_of_this_thread();
  if (!is_counting()) hooked_regions = checked_memory->regions();
}

std::size_t static_shared_bytes() { return memory_of_this_thread().written_static_bytes(); }

void end_thread_block() {
  checked_memory = nullptr;
  hooked_regions = {};
}

void all_threads_met() {
  happens_before.all_threads_met();
  memory_of_this_thread().set_age(happens_before.age());
}

void lanes_met(unsigned int first_thread_of_warp, unsigned int mask) {
  if (happens_before.lanes_met(first_thread_of_warp, mask)) return;
  fail([] {
    return place_of_running_thread() +
           ": more than a million __syncwarp() without a __syncthreads(), which the checks cannot "
           "count.";
  });
}

}  // namespace pagelab::simt
