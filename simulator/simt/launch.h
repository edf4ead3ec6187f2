/// \file
/// Launching a kernel on the simulated GPU: thread blocks are spread over the CPU's cores, and the
/// threads of each run one at a time, until they return or wait for others.
///
/// Abstracted: time, the order of memory between cores, how many thread blocks a GPU holds at once,
/// registers. A thread block runs to its end before the same core takes another, so one that waits
/// for another thread block may wait for ever; that is reported.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/simt/dim3.h"

namespace pagelab::simt {

/// Whether every access of a kernel goes through the checks (checks.h).
enum class Checks : std::uint8_t {
  kOff,  ///< the kernel was compiled as it is: fast
  kOn,   ///< the kernel was compiled with a hook at every access
};

/// What is launched, and on how many threads.
struct LaunchConfig {
  const char* kernel = "";       ///< name for messages
  dim3 grid;                     ///< thread blocks
  dim3 cta;                      ///< threads of a thread block
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory a thread block
  Checks checks = Checks::kOff;  ///< how the kernel was compiled
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

/// Lanes of a warp.
inline constexpr unsigned int kLanesPerWarp = 32;

/// The most dynamic shared memory of a thread block: 227 KiB.
/// \source CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 9.0
inline constexpr std::size_t kMaxSharedBytes = 227 * 1024;

/// Throws if a GPU would refuse the launch: an empty grid or thread block, one beyond CUDA's
/// limits, or too much shared memory.
/// \throws Error   naming the kernel, the direction, the value and the limit
/// \source         CUDA C++ Programming Guide, table "Technical Specifications per Compute
/// Capability"
void check_launch_limits(const LaunchConfig& config);

/// Runs `run_thread(body)` once for each thread, with threadIdx and its like set.
/// \throws Error  if the launch is refused, if threads wait for each other for ever, or for the first
///                wrong access of a checked kernel
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
