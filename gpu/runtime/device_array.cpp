#include "gpu/runtime/device_array.h"

#include "reference/contract/refuse.h"

namespace pagelab {

DeviceArray::DeviceArray(std::shared_ptr<Device> device, std::size_t bytes, const std::string& name)
    : device_(std::move(device)), bytes_(bytes) {
  if (bytes_ > 0) data_ = device_->allocate(bytes_, name);
}

DeviceArray DeviceArray::copy_of(std::shared_ptr<Device> device,
                                 const Tensor& tensor,
                                 const std::string& name) {
  DeviceArray array(std::move(device), static_cast<std::size_t>(tensor.size_in_bytes()), name);
  array.copy_from(tensor.bytes());
  return array;
}

DeviceArray::~DeviceArray() {
  if (data_ != nullptr) device_->free(data_);
}

void DeviceArray::copy_from(const void* host) {
  if (bytes_ > 0) device_->copy_to_device(data_, host, bytes_);
}

void DeviceArray::overwrite(const void* host, std::size_t bytes) {
  if (bytes > bytes_) refuse("{} bytes do not fit a device array of {} bytes.", bytes, bytes_);
  if (bytes > 0) device_->copy_to_device(data_, host, bytes);
}

void DeviceArray::copy_to(void* host) const {
  if (bytes_ > 0) device_->copy_to_host(host, data_, bytes_);
}

}  // namespace pagelab
