/// \file
/// The CPU's cores, as threads that wait for work. The environment variable PAGELAB_CORES says how many
/// are used; 1 is for debuggers, where all thread blocks are then run one after the other by the thread
/// that launched them.
#pragma once

#include <functional>

namespace pagelab::simt {

/// Calls `work` on every core at once, the caller's thread among them, and returns when all calls have
/// returned. A core that is late, because something else runs there, is left out once the caller's own
/// call has returned. If another thread is using the cores, the caller works alone.
/// \param work  takes what is still to be done until nothing is left; must not throw
/// \throws Error  if PAGELAB_CORES is not a number of cores
void on_all_cores(const std::function<void()>& work);

}  // namespace pagelab::simt
