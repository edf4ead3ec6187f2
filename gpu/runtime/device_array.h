/// \file
/// DeviceArray: device memory that frees itself.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// An array in a device's memory. Empty arrays have no memory and no address.
class DeviceArray {
 public:
  DeviceArray() = default;

  /// An array whose contents are undefined.
  /// \throws Error  if there is not enough memory
  DeviceArray(std::shared_ptr<Device> device, std::size_t bytes, const std::string& name);

  /// An array with the contents of a host array.
  static DeviceArray copy_of(std::shared_ptr<Device> device,
                             const Tensor& tensor,
                             const std::string& name);
  /// \copydoc copy_of(std::shared_ptr<Device>, const Tensor&, const std::string&)
  template <typename T>
  static DeviceArray copy_of(std::shared_ptr<Device> device,
                             const std::vector<T>& values,
                             const std::string& name) {
    DeviceArray array(std::move(device), values.size() * sizeof(T), name);
    array.copy_from(values.data());
    return array;
  }

  ~DeviceArray();
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }  ///< takes the other's memory
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }  ///< takes the other's memory

  std::size_t bytes() const { return bytes_; }  ///< length
  void* data() const { return data_; }          ///< device address; nullptr if empty
  /// The device address as that of elements; nullptr if empty.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

  /// Copies `bytes()` bytes from the host.
  void copy_from(const void* host);
  /// Copies values over the beginning, and leaves what lies behind them: for arrays that stay where they are.
  /// \throws Error  if there are more than the array holds
  template <typename T>
  void overwrite(const std::vector<T>& values) {
    overwrite(values.data(), values.size() * sizeof(T));
  }
  /// \copydoc overwrite(const std::vector<T>&)
  void overwrite(const Tensor& values) {
    overwrite(values.bytes(), static_cast<std::size_t>(values.size_in_bytes()));
  }
  /// Copies `bytes()` bytes to the host, after all work before it.
  void copy_to(void* host) const;

 private:
  void overwrite(const void* host, std::size_t bytes);
  void swap(DeviceArray& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pagelab
