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
/// thread block. Nothing is unwound, so frames of a kernel hold plain data only. (Not an exception:
/// the compiler takes for granted that the hooks of an access throw none.)
/// \param sentence  what was wrong; run_grid throws it
[[noreturn]] void fail(std::string sentence);

}  // namespace pagelab::simt
