#include "cli/profiled_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"

namespace pagelab::cli {
namespace {

std::vector<std::string> names_of(const std::vector<ShapeField>& fields) {
  std::vector<std::string> names;
  for (const ShapeField& field : fields) names.push_back(field.name);
  return names;
}

std::int64_t value_of(const std::string& kernel, const ShapeField& field, const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
  const bool is_number = error == std::errc() && parsed_to == end;
  if (is_number && value >= field.least && value <= field.most) return value;
  throw Error(fmt::format("{} of {} is '{}', but it must be a whole number from {} to {}.",
                          field.name, kernel, text, field.least, field.most));
}

}  // namespace

std::int64_t Shape::operator[](const std::string& name) const {
  for (const ShapeField& field : fields_) {
    if (field.name == name) return field.value;
  }
  throw std::logic_error("no shape field " + name);
}

void Shape::set(const std::string& kernel, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos) {
      throw Error(
          fmt::format("'{}' is no number of a shape: write it as NAME=VALUE, for example {}.",
                      option, to_string(*this)));
    }
    const std::string name = option.substr(0, equals);
    const auto field = std::find_if(fields_.begin(), fields_.end(),
                                    [&](const ShapeField& f) { return f.name == name; });
    if (field == fields_.end()) {
      throw Error(fmt::format("{} has no {}{}: its shape is made of {}.", kernel, name,
                              did_you_mean(name, names_of(fields_)),
                              fmt::join(names_of(fields_), ", ")));
    }
    field->value = value_of(kernel, *field, option.substr(equals + 1));
  }
}

std::string to_string(const Shape& shape) {
  std::vector<std::string> numbers;
  for (const ShapeField& field : shape.fields()) {
    numbers.push_back(fmt::format("{}={}", field.name, field.value));
  }
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::vector<ProfiledKernel> profiled_kernels() {
  std::vector<ProfiledKernel> kernels;
  add_ladders(kernels);
  add_attention_kernels(kernels);
  return kernels;
}

ProfiledKernel profiled_kernel(const std::string& name) {
  const std::vector<ProfiledKernel> kernels = profiled_kernels();
  std::vector<std::string> names;
  for (const ProfiledKernel& kernel : kernels) {
    if (kernel.name == name) return kernel;
    names.push_back(kernel.name);
  }
  throw Error(fmt::format("there is no kernel {}{} to profile, only {}.", name,
                          did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace pagelab::cli
