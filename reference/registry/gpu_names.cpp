#include "reference/registry/gpu_names.h"

#include <cctype>
#include <optional>

#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/python_text.h"

namespace pagelab {
namespace {

// "9.0" as a capability: one or two digits, a dot, one digit.
std::optional<DeviceCapability> capability_written_out(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == 0 || dot > 2 || text.size() != dot + 2) return std::nullopt;
  for (std::size_t position = 0; position < text.size(); ++position) {
    if (position != dot && !std::isdigit(static_cast<unsigned char>(text[position]))) {
      return std::nullopt;
    }
  }
  return DeviceCapability{std::stoi(text.substr(0, dot)), std::stoi(text.substr(dot + 1))};
}

}  // namespace

const std::vector<GpuName>& gpu_names() {
  static const std::vector<GpuName> kNames = {
      {"t4", {7, 5}},    {"rtx2080", {7, 5}},  {"a100", {8, 0}},        {"a30", {8, 0}},
      {"a10", {8, 6}},   {"a10g", {8, 6}},     {"a40", {8, 6}},         {"rtx3090", {8, 6}},
      {"l4", {8, 9}},    {"l40", {8, 9}},      {"l40s", {8, 9}},        {"rtx4090", {8, 9}},
      {"h100", {9, 0}},  {"h200", {9, 0}},     {"h20", {9, 0}},         {"gh200", {9, 0}},
      {"b200", {10, 0}}, {"gb200", {10, 0}},   {"b300", {10, 3}},       {"gb300", {10, 3}},
      {"thor", {11, 0}}, {"rtx5090", {12, 0}}, {"rtxpro6000", {12, 0}}, {"gb10", {12, 1}},
  };
  return kNames;
}

DeviceCapability capability_of_gpu(const std::string& text) {
  std::string name;
  for (const char character : text) {
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  std::vector<std::string> names;
  for (const GpuName& gpu : gpu_names()) {
    if (gpu.name == name) return gpu.capability;
    names.emplace_back(gpu.name);
  }
  if (const std::optional<DeviceCapability> capability = capability_written_out(name)) {
    return *capability;
  }
  throw Error("there is no GPU " + text + did_you_mean(name, names) +
              "; give a capability like 9.0 or one of " + comma_separated(names) + ".");
}

std::string to_string(DeviceCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

}  // namespace pagelab
