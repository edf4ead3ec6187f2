// pagelab profile KERNEL [SHAPE]: one kernel in the simulator, counted; or launched on a GPU, for a
// profiler that looks on (benchmarks/gpu/profile_kernels.py).

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/profile_listing.h"
#include "cli/profiled_kernels.h"
#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"

namespace pagelab::cli {
namespace {

struct ProfileOptions {
  std::string kernel;  // empty: list them
  std::vector<std::string> shape;
  std::string target = "simulator";
  bool json = false;
};

void print_list() {
  fmt::print("kernels, each with the numbers of its shape and their defaults:\n");
  for (const ProfiledKernel& kernel : profiled_kernels()) {
    fmt::print("  {:<30} {}\n", kernel.name, to_string(kernel.shape));
  }
  fmt::print("\nfor example: pagelab profile transpose/2_shared_tile rows=64 columns=64\n");
}

void print_list_as_json() {
  nlohmann::ordered_json document;
  document["kernels"] = nlohmann::ordered_json::array();
  for (const ProfiledKernel& kernel : profiled_kernels()) {
    nlohmann::ordered_json shape = nlohmann::ordered_json::object();
    for (const ShapeField& field : kernel.shape.fields()) {
      shape[field.name] = {{"default", field.value},
                           {"least", field.least},
                           {"most", field.most},
                           {"description", field.description}};
    }
    document["kernels"].push_back({{"kernel", kernel.name}, {"shape", shape}});
  }
  fmt::print("{}\n", document.dump(2));
}

std::vector<ProfiledKernel> chosen_kernels(const ProfileOptions& options) {
  if (options.kernel == "all") {
    if (options.shape.empty()) return profiled_kernels();
    throw Error("a shape belongs to one kernel, but all were asked for: leave the shape out.");
  }
  ProfiledKernel kernel = profiled_kernel(options.kernel);
  kernel.shape.set(kernel.name, options.shape);
  return {kernel};
}

std::shared_ptr<Device> device_of(const std::string& target) {
  if (target == "simulator") return checked_simulator_device();
  if (target == "cuda") return cuda_device();
  throw Error(fmt::format(
      "--target {}{} is not one that a kernel can be profiled on: simulator and cuda are.", target,
      did_you_mean(target, {"simulator", "cuda"})));
}

void count(const ProfileOptions& options, const std::vector<ProfiledKernel>& kernels) {
  const std::shared_ptr<Device> device = device_of("simulator");
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const ProfiledKernel& kernel : kernels) {
    const simt::ScopedCounting counting;
    kernel.launch(device, kernel.shape);
    if (options.json) {
      documents.push_back(json_of(kernel, counting.launches()));
    } else {
      if (&kernel != &kernels.front()) fmt::print("\n");
      fmt::print("{}", listing_of(kernel, counting.launches()));
    }
  }
  if (!options.json) return;
  fmt::print("{}\n", options.kernel == "all"
                         ? nlohmann::ordered_json{{"kernels", documents}}.dump(2)
                         : documents.front().dump(2));
}

void launch_only(const ProfileOptions& options, const std::vector<ProfiledKernel>& kernels) {
  const std::shared_ptr<Device> device = device_of(options.target);
  if (options.json) {
    throw Error(
        "--json has the simulator's counters: with --target cuda nothing is counted here, so "
        "leave it out.");
  }
  for (const ProfiledKernel& kernel : kernels) {
    kernel.launch(device, kernel.shape);
    fmt::print("launched {} with {} on {}\n", kernel.name, to_string(kernel.shape), device->name());
  }
}

int run_profile(const ProfileOptions& options) {
  if (options.kernel.empty()) {
    options.json ? print_list_as_json() : print_list();
    return 0;
  }
  const std::vector<ProfiledKernel> kernels = chosen_kernels(options);
  if (options.target == "simulator") {
    count(options, kernels);
  } else {
    launch_only(options, kernels);
  }
  return 0;
}

}  // namespace

void add_profile_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "Count what a kernel does, beside the lines of its source");
  command->add_option("KERNEL", options->kernel,
                      "transpose/1_naive and the like, or all; left out: list them");
  command->add_option("SHAPE", options->shape, "numbers of its shape, as NAME=VALUE");
  command
      ->add_option("--target", options->target,
                   "simulator: count; cuda: only launch, for NVIDIA's profiler to look on")
      ->capture_default_str()
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback([options, &exit_status] { exit_status = run_profile(*options); });
}

}  // namespace pagelab::cli
