/// \file
/// Which kernel a host thread launched last. A GPU reports a kernel's wrong access later, at some
/// other call; the message of that call then names the kernel.
#pragma once

#include <string>

namespace pagelab {

/// A launch, for messages.
struct LastLaunch {
  const char* kernel = nullptr;      ///< a literal; nullptr before the first launch
  unsigned int grid[3] = {0, 0, 0};  ///< thread blocks
  unsigned int cta[3] = {0, 0, 0};   ///< threads of a thread block
};

/// This host thread's last launch on the GPU.
inline thread_local LastLaunch last_launch;

/// "kernel cache_write/1_naive, grid (3, 1, 1), thread block (128, 1, 1)".
inline std::string to_string(const LastLaunch& launch) {
  const auto extent = [](const unsigned int(&lengths)[3]) {
    return "(" + std::to_string(lengths[0]) + ", " + std::to_string(lengths[1]) + ", " +
           std::to_string(lengths[2]) + ")";
  };
  return std::string("kernel ") + launch.kernel + ", grid " + extent(launch.grid) +
         ", thread block " + extent(launch.cta);
}

}  // namespace pagelab
