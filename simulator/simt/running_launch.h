/// \file
/// The launch that a host thread is carrying out. For the simulator's own use: the checks need to
/// know which kernel is running, and how to leave it.
#pragma once

#include <csetjmp>
#include <string>

#include "simulator/simt/launch.h"

namespace pagelab::simt {

/// A launch under way. A wrong access is noted in `error`, and the kernel is left by a jump: the
/// compiler takes for granted that the hooks of an access return, so none of them may throw. Frames
/// that the jump skips hold plain data only.
struct RunningLaunch {
  const LaunchConfig* config = nullptr;  ///< what was launched
  std::string error;                     ///< the sentence, once something is wrong
  std::jmp_buf leave_kernel;             ///< back to run_grid
};

/// This host thread's launch, or nullptr.
extern constinit thread_local RunningLaunch* running_launch;

}  // namespace pagelab::simt
