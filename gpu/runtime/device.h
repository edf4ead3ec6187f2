/// \file
/// The memory of whatever runs the kernels, behind one interface: a GPU, or the simulator. Kernels
/// themselves are chosen by DeviceKind (gpu/kernels/kernel_set.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pagelab {

/// Which of the compiled forms of a kernel a device runs.
enum class DeviceKind : std::uint8_t {
  kSimulator,         ///< compiled by g++, fast
  kCheckedSimulator,  ///< compiled by g++, every access to device memory checked
  kCuda,              ///< compiled by nvcc
};

class Graph;

/// Something that has memory and runs kernels. Work is done in the order of the calls.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;     ///< which form of a kernel runs here
  virtual std::string name() const = 0;    ///< "NVIDIA H200", "simulator", ...
  virtual std::string target() const = 0;  ///< "simulator" or "cuda", as users name it

  /// An array of device memory, its contents undefined (poisoned in the simulator).
  /// \param bytes       0 or more
  /// \param array_name  for messages
  /// \throws Error      if there is not enough memory
  virtual void* allocate(std::size_t bytes, const std::string& array_name) = 0;
  /// Gives an array back. Does not throw: what is wrong with a GPU shows at the next call.
  virtual void free(void* array) noexcept = 0;

  /// Copies from the host. \throws Error naming the call and, if one failed before, the kernel
  virtual void copy_to_device(void* to, const void* from, std::size_t bytes) = 0;
  /// Copies to the host, after all work before it. \throws Error as copy_to_device
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;
  /// Sets every byte. \throws Error as copy_to_device
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  /// Waits for all work. \throws Error naming the kernel if one failed
  virtual void synchronize() = 0;

  /// How long the device takes for what is launched: on a GPU without the launches' own time on the host.
  /// \param work    launches kernels
  /// \returns       seconds
  /// \throws Error  as synchronize
  virtual double seconds_of(const std::function<void()>& work) = 0;

  /// Records what is launched, instead of running it (graph.h).
  /// \param work    launches kernels; what it has allocated before must outlive the graph
  /// \returns       never null
  /// \throws Error  if `work` allocates, frees, copies or waits, or a launch is refused; nothing has run then either
  virtual std::unique_ptr<Graph> capture(const std::function<void()>& work) = 0;
};

/// The simulator, whose kernels are compiled for speed.
std::shared_ptr<Device> simulator_device();

/// The simulator, whose kernels have every access to device memory checked.
/// \throws Error  if pagelab was built without checked kernels (under ThreadSanitizer)
std::shared_ptr<Device> checked_simulator_device();

/// The GPU, CUDA's current one.
/// \throws Error  with the reason if there is none that can run pagelab's kernels
std::shared_ptr<Device> cuda_device();

/// Whether there is a GPU that can run pagelab's kernels.
/// \param why_not  set to the reason if there is none; may be nullptr
bool cuda_is_available(std::string* why_not = nullptr);

}  // namespace pagelab
