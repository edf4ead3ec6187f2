// The simulator as a Device: its memory is simulator/simt/device_memory.h.

#include <chrono>

#include "gpu/runtime/device.h"
#include "gpu/runtime/graph.h"
#include "reference/contract/error.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"

namespace pagelab {
namespace {

// The simulator has an exception of its own; users of pagelab know one.
template <typename Call>
auto in_our_words(const Call& call) {
  try {
    return call();
  } catch (const simt::Error& error) {
    throw Error(error.what());
  }
}

class SimulatorGraph final : public Graph {
 public:
  explicit SimulatorGraph(std::unique_ptr<LaunchList> list) : Graph(std::move(list)) {}
  void replay() override {
    refuse_while_recording("a graph cannot be replayed");
    in_our_words([&] { list_->replay(); });
  }
};

class SimulatorDevice final : public Device {
 public:
  explicit SimulatorDevice(bool checked) : checked_(checked) {}

  DeviceKind kind() const override {
    return checked_ ? DeviceKind::kCheckedSimulator : DeviceKind::kSimulator;
  }
  std::string name() const override { return checked_ ? "simulator, checked" : "simulator"; }
  std::string target() const override { return "simulator"; }

  void* allocate(std::size_t bytes, const std::string& array_name) override {
    refuse_while_recording("`" + array_name + "` cannot be allocated");
    const simt::Tracking tracking = checked_ ? simt::Tracking::kWrites : simt::Tracking::kBounds;
    return in_our_words([&] { return memory().allocate(bytes, array_name, tracking); });
  }
  void free(void* array) noexcept override {
    note_free();
    memory().free(array);
  }

  void copy_to_device(void* to, const void* from, std::size_t bytes) override {
    refuse_while_recording("nothing can be copied to the device");
    in_our_words([&] { memory().copy_to_device(to, from, bytes); });
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override {
    refuse_while_recording("nothing can be copied to the host");
    in_our_words([&] { memory().copy_to_host(to, from, bytes); });
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    refuse_while_recording("no array can be filled");
    in_our_words([&] { memory().fill(to, value, bytes); });
  }
  void synchronize() override {  // a launch returns when the kernel has run
    refuse_while_recording("nothing can be waited for");
  }
  double seconds_of(const std::function<void()>& work) override {
    refuse_while_recording("nothing can be timed");
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    auto list = std::make_unique<LaunchList>();
    record_launches(*list, work);
    return std::make_unique<SimulatorGraph>(std::move(list));
  }

 private:
  static simt::DeviceMemory& memory() { return simt::device_memory(); }

  bool checked_;
};

}  // namespace

std::shared_ptr<Device> simulator_device() {
  static const std::shared_ptr<Device> device = std::make_shared<SimulatorDevice>(false);
  return device;
}

std::shared_ptr<Device> checked_simulator_device() {
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  static const std::shared_ptr<Device> device = std::make_shared<SimulatorDevice>(true);
  return device;
#else
  throw Error(
      "this build of pagelab has no checked kernels: ThreadSanitizer's runtime and theirs exclude "
      "each other. Configure another preset.");
#endif
}

}  // namespace pagelab
