/// \file
/// The kernels that `pagelab profile` can run, each with a small shape of its own. A ladder is a line
/// of the list in profiled_kernels.cpp: new rungs of it come by themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::cli {

/// One number of a shape.
struct ShapeField {
  std::string name;         ///< "rows"
  std::int64_t value = 0;   ///< its default
  std::int64_t least = 0;   ///< allowed
  std::int64_t most = 0;    ///< allowed
  std::string description;  ///< for people
};

/// The numbers that a kernel runs with.
class Shape {
 public:
  /// \param fields  with their values
  explicit Shape(std::vector<ShapeField> fields) : fields_(std::move(fields)) {}

  /// The value of a field. \throws std::logic_error if there is none of that name
  std::int64_t operator[](const std::string& name) const;
  /// Changes the fields that the options name.
  /// \param kernel   for messages
  /// \param options  "rows=64"
  /// \throws Error   if there is no such field, or its value is not allowed
  void set(const std::string& kernel, const std::vector<std::string>& options);
  const std::vector<ShapeField>& fields() const { return fields_; }  ///< all of them

 private:
  std::vector<ShapeField> fields_;
};

/// "rows=100 columns=72"
std::string to_string(const Shape& shape);

/// A kernel with everything that it takes to launch it.
struct ProfiledKernel {
  std::string name;  ///< as in messages: "transpose/1_naive"; its source is gpu/kernels/<name>.cuh
  Shape shape;       ///< its defaults
  /// Fills arrays on a device, launches, and waits. \throws Error if the kernel refuses the shape
  std::function<void(const std::shared_ptr<Device>& device, const Shape& shape)> launch;
};

/// All of them, in the order in which they are learned.
std::vector<ProfiledKernel> profiled_kernels();

/// The kernel of that name. \throws Error  naming the nearest name, if there is none
ProfiledKernel profiled_kernel(const std::string& name);

// Parts of the list.

/// cache_write, paged_decode, paged_prefill, cascade, unified and flex.
void add_attention_kernels(std::vector<ProfiledKernel>& kernels);
/// The ladders to learn from.
void add_ladders(std::vector<ProfiledKernel>& kernels);

}  // namespace pagelab::cli
