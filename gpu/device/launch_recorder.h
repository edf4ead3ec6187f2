/// \file
/// What a launch does while a graph is recorded: instead of running it tells a recorder all that there is to
/// know about it. On a GPU the launch also goes to CUDA's own recording, by the stream that is captured.
#pragma once

#include <cstddef>

namespace pagelab {

/// A launch as it is recorded: everything is literal. A pointer among the parameters is an address, a number is
/// that number, whatever becomes of the variable that it was read from.
struct LaunchCall {
  const char* kernel = nullptr;      ///< a literal
  unsigned int grid[3] = {1, 1, 1};  ///< thread blocks
  unsigned int cta[3] = {1, 1, 1};   ///< threads of a thread block
  std::size_t shared_bytes = 0;      ///< of dynamic shared memory
  const void* params = nullptr;      ///< the kernel's only parameter, a struct passed by value
  std::size_t params_bytes = 0;      ///< its size
  void (*function)() = nullptr;      ///< the kernel, its type forgotten
  /// Launches it once more, with what `params` points to. nullptr on a GPU, where CUDA does that.
  void (*run)(const LaunchCall& call) = nullptr;
};

/// Gets the launches of one host thread.
class LaunchRecorder {
 public:
  virtual ~LaunchRecorder() = default;
  /// \param call  good until this returns: the parameters have to be copied
  virtual void record(const LaunchCall& call) = 0;
  /// The cudaStream_t that is being captured; nullptr in the simulator.
  virtual void* stream() const { return nullptr; }
};

/// Who records this host thread's launches; nullptr: they run.
inline thread_local LaunchRecorder* launch_recorder = nullptr;

}  // namespace pagelab
