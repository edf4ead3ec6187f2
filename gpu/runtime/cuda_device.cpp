// A GPU as a Device, through the CUDA runtime. Compiled only where there is a CUDA toolkit;
// no_cuda_device.cpp stands in elsewhere.

#include <fmt/format.h>

#include "gpu/runtime/cuda_check.h"
#include "gpu/runtime/cuda_graph.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/gpu_code.h"
#include "reference/contract/error.h"

namespace pagelab {
namespace {

// A point in the order of the work, whose time the GPU notes when it comes there.
struct Event {
  Event() { check(cudaEventCreate(&event), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() const { check(cudaEventRecord(event), "cudaEventRecord"); }

  cudaEvent_t event = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::string name) : name_(std::move(name)) {}

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override { return name_; }
  std::string target() const override { return "cuda"; }

  void* allocate(std::size_t bytes, const std::string& array_name) override {
    refuse_while_recording("`" + array_name + "` cannot be allocated");
    void* array = nullptr;
    check(cudaMalloc(&array, bytes),
          fmt::format("cudaMalloc of {} bytes for `{}`", bytes, array_name));
    return array;
  }
  void free(void* array) noexcept override {
    note_free();
    cudaFree(array);
  }

  void copy_to_device(void* to, const void* from, std::size_t bytes) override {
    refuse_while_recording("nothing can be copied to the device");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice),
          fmt::format("cudaMemcpy of {} bytes to the device", bytes));
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override {
    refuse_while_recording("nothing can be copied to the host");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
          fmt::format("cudaMemcpy of {} bytes to the host", bytes));
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    refuse_while_recording("no array can be filled");
    check(cudaMemset(to, value, bytes), fmt::format("cudaMemset of {} bytes", bytes));
  }
  void synchronize() override {
    refuse_while_recording("nothing can be waited for");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  double seconds_of(const std::function<void()>& work) override {
    refuse_while_recording("nothing can be timed");
    const Event start;
    const Event stop;
    start.record();
    work();
    stop.record();
    check(cudaEventSynchronize(stop.event), "cudaEventSynchronize");
    float milliseconds = 0.0f;
    check(cudaEventElapsedTime(&milliseconds, start.event, stop.event), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    return capture_cuda_graph(work);
  }

 private:
  std::string name_;
};

// What is found once, at the first question: a device, or the reason why there is none.
struct Search {
  std::shared_ptr<Device> device;
  std::string why_not;
  ComputeCapability capability = {};
};

Search search_for_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    return {nullptr, "there is no NVIDIA driver, or it is too old for this CUDA runtime"};
  }
  if (status != cudaSuccess) return {nullptr, cudaGetErrorString(status)};
  if (count == 0) return {nullptr, "there is no GPU"};

  int device_idx = 0;
  cudaDeviceProp properties;
  if (const cudaError_t failure = cudaGetDevice(&device_idx); failure != cudaSuccess) {
    return {nullptr, cudaGetErrorString(failure)};
  }
  if (const cudaError_t failure = cudaGetDeviceProperties(&properties, device_idx);
      failure != cudaSuccess) {
    return {nullptr, cudaGetErrorString(failure)};
  }
  const ComputeCapability capability = {properties.major, properties.minor};
  const std::string why_not =
      why_code_does_not_run(PAGELAB_CUDA_ARCHITECTURES, properties.name, capability);
  if (!why_not.empty()) return {nullptr, why_not};
  return {std::make_shared<CudaDevice>(properties.name), "", capability};
}

const Search& search() {
  static const Search result = search_for_device();
  return result;
}

}  // namespace

std::shared_ptr<Device> cuda_device() {
  if (search().device == nullptr) {
    throw Error(fmt::format("target cuda is not available: {}.", search().why_not));
  }
  return search().device;
}

ComputeCapability cuda_compute_capability() {
  cuda_device();  // says why if there is none
  return search().capability;
}

bool cuda_is_available(std::string* why_not) {
  if (why_not != nullptr) *why_not = search().why_not;
  return search().device != nullptr;
}

}  // namespace pagelab
