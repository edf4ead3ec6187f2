#include "gpu/backends/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gpu/backends/cpu_attn/cpu_attn.h"
#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer.h"
#include "gpu/backends/flex_attention.h"
#include "gpu/backends/naive.h"
#include "gpu/backends/register_backend.h"
#include "gpu/backends/triton_attn.h"
#include "gpu/runtime/device.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/reference_backends.h"

namespace pagelab {
namespace {

std::shared_ptr<Device> device_of(const std::string& target) {
  return target == "cuda" ? cuda_device() : simulator_device();
}

// What runs on devices that launch kernels.
using MakeOnDevice = std::unique_ptr<AttentionBackend> (*)(std::shared_ptr<Device> device);

// A line of the table: the row of that name, and what makes the backend.
BackendChoice on_device(const char* name, MakeOnDevice make) {
  return {*find_implementation(name),
          [make](const std::string& target) { return make(device_of(target)); }};
}

BackendChoice on_cpu(const char* name, std::unique_ptr<AttentionBackend> (*make)()) {
  return {*find_implementation(name), [make](const std::string&) { return make(); }};
}

const std::vector<BackendChoice>& built_in_backends() {
  static const std::vector<BackendChoice> kBackends = {
      on_cpu("REFERENCE", make_reference_backend),
      on_cpu("REFERENCE_FLOAT", make_reference_float_backend),
      on_device("NAIVE", [](auto device) { return make_naive_backend(std::move(device)); }),
      on_device("FLASH_ATTN",
                [](auto device) { return make_flash_attn_backend(std::move(device)); }),
      on_device("FLASHINFER", make_flashinfer_backend),
      on_device("TRITON_ATTN",
                [](auto device) { return make_triton_attn_backend(std::move(device)); }),
      on_device("FLEX_ATTENTION",
                [](auto device) { return make_flex_attention_backend(std::move(device)); }),
      on_cpu("CPU_ATTN", [] { return make_cpu_attn_backend(); }),
  };
  return kBackends;
}

BackendChoice choice_of(const std::string& name) {
  const std::vector<BackendChoice> choices = all_backends();
  std::vector<std::string> names;
  for (const BackendChoice& choice : choices) {
    if (choice.name == name) return choice;
    names.push_back(choice.name);
  }
  throw Error(fmt::format("there is no backend {}{}; the backends are {}.", name,
                          did_you_mean(name, names), fmt::join(names, ", ")));
}

void require_known(const std::string& target) {
  const std::vector<std::string> targets = {"cpu", "simulator", "cuda"};
  if (std::find(targets.begin(), targets.end(), target) != targets.end()) return;
  const std::string wanted = target == "gpu" ? "cuda" : target;
  throw Error(fmt::format("there is no target {}{}; the targets are {}.", target,
                          did_you_mean(wanted, targets), fmt::join(targets, ", ")));
}

}  // namespace

std::vector<BackendChoice> all_backends() {
  std::vector<BackendChoice> backends = built_in_backends();
  for (const BackendChoice& choice : registered_backends()) backends.push_back(choice);
  return backends;
}

std::vector<std::string> available_targets() {
  std::vector<std::string> targets = {"cpu", "simulator"};
  if (cuda_is_available()) targets.push_back("cuda");
  return targets;
}

std::string default_target_of(const std::string& name) { return choice_of(name).targets.front(); }

std::unique_ptr<AttentionBackend> make_backend(const std::string& name, const std::string& target) {
  const BackendChoice choice = choice_of(name);
  require_known(target);
  if (std::find(choice.targets.begin(), choice.targets.end(), target) == choice.targets.end()) {
    throw Error(fmt::format("backend {} does not run on target {}; it runs on {}.", choice.name,
                            target, fmt::join(choice.targets, " and ")));
  }
  return choice.make(target);
}

}  // namespace pagelab
