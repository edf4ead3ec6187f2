/// \file
/// What is running on this host thread: which kernel, which thread block, which thread of it. The
/// words that kernels use and the checks ask here, and leave a kernel that did something wrong.
#pragma once

#include <string>

#include "simulator/simt/launch.h"

namespace pagelab::simt {

class ThreadBlock;

/// The thread block that this host thread is running; nullptr outside a launch.
extern constinit thread_local ThreadBlock* running_thread_block;

/// What was launched; nullptr outside a launch.
const LaunchConfig* running_config();

/// The running thread's flat index in its thread block, x fastest. Only within a launch.
unsigned int running_thread();

/// Threads of the running thread block. Only within a launch.
unsigned int threads_per_cta();

/// "kernel scale, thread block (0, 0, 0), thread (3, 0, 0)". Only within a launch.
std::string place_of_running_thread();

/// Abandons the launch: the thread that calls this never goes on, and neither does any other of its
/// thread block. Nothing is unwound, so frames of a kernel hold plain data only, and those of what it
/// calls hold no string when they come here. (Not an exception: the compiler takes for granted that
/// the hooks of an access throw none.)
/// \param sentence  makes the sentence about what was wrong, which run_grid throws; called after the
///                  kernel was left, when the calling frames are still there
/// \param data      what `sentence` is called with
[[noreturn]] void leave_kernel(std::string (*sentence)(const void* data), const void* data);

/// The same for a callable: `fail([&] { return "index is " + std::to_string(index) + "."; });`
template <typename Sentence>
[[noreturn]] void fail(const Sentence& sentence) {
  leave_kernel(
      [](const void* data) -> std::string { return (*static_cast<const Sentence*>(data))(); },
      &sentence);
}

}  // namespace pagelab::simt
