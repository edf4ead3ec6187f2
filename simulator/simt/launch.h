/// \file
/// Launching a kernel on the simulated GPU: every thread of every thread block runs to its end, one
/// after the other. That is enough for kernels in which no thread waits for another.
#pragma once

#include <cstdint>

#include "simulator/simt/dim3.h"

namespace pagelab::simt {

/// What is launched, and on how many threads.
struct LaunchConfig {
  const char* kernel = "";  ///< name for messages
  dim3 grid;                ///< thread blocks
  dim3 cta;                 ///< threads of a thread block
};

/// In which order threads run. Nothing may depend on it: a GPU promises no order at all.
enum class ThreadOrder : std::uint8_t {
  kAscending,   ///< by index, so that a breakpoint hits the same way twice
  kDescending,  ///< the reverse
  kShuffled,    ///< thread blocks, and the threads of each, in an order drawn from a seed
};

/// While it lives, launches of this host thread run their threads in another order.
class ScopedThreadOrder {
 public:
  /// \param order  the order
  /// \param seed   what kShuffled draws from
  explicit ScopedThreadOrder(ThreadOrder order, std::uint64_t seed = 0);
  ~ScopedThreadOrder();
  ScopedThreadOrder(const ScopedThreadOrder&) = delete;
  ScopedThreadOrder& operator=(const ScopedThreadOrder&) = delete;

 private:
  ThreadOrder previous_order_;
  std::uint64_t previous_seed_;
};

/// Throws if a GPU would refuse the launch: an empty grid or thread block, or one beyond CUDA's
/// limits.
/// \throws Error   naming the kernel, the direction, the value and the limit
/// \source         CUDA C++ Programming Guide, table "Technical Specifications per Compute
/// Capability"
void check_launch_limits(const LaunchConfig& config);

/// Runs `run_thread(body)` once for each thread, with threadIdx and its like set.
/// \throws Error  if the launch is refused, or for the first wrong access of a checked kernel
void run_grid(const LaunchConfig& config, void (*run_thread)(const void* body), const void* body);

/// Runs a callable once for each thread.
/// \param config  kernel name, grid and thread block
/// \param body    called without arguments; usually a lambda that calls the kernel
/// \throws Error  as run_grid
///
///     launch({"scale", 2, 128}, [&] { scale(x, 3.0f, n); });
template <typename Body>
void launch(const LaunchConfig& config, const Body& body) {
  run_grid(
      config, [](const void* erased) { (*static_cast<const Body*>(erased))(); }, &body);
}

}  // namespace pagelab::simt
