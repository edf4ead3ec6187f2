#include "cli/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/option_values.h"
#include "gpu/backends/catalog.h"
#include "gpu/runtime/device.h"
#include "reference/contract/refuse.h"
#include "reference/registry/gpu_names.h"

namespace pagelab::cli {

void add_rule_options(CLI::App& command, RuleOptions& options) {
  command.add_flag("--as-vllm", options.as_vllm,
                   "refuse what vLLM's own backend of the name refuses, with its reasons");
  command
      .add_option("--gpu", options.gpu,
                  "whose rules count: h100, b200, ... or 9.0 (default: the GPU's; the simulator "
                  "stands for 9.0)")
      ->check(not_empty());
}

void add_backend_options(CLI::App& command,
                         BackendOptions& options,
                         const std::string& when_left_out) {
  command
      .add_option("--backend", options.backend,
                  "which implementation of attention; auto: the one that vLLM would choose "
                  "(default: " +
                      when_left_out + ")")
      ->check(not_empty());
  command
      .add_option(
          "--target", options.target,
          "cpu, simulator or cuda (default: the first that the backend runs on; for auto the "
          "GPU, the simulator in its place under --gpu or --as-vllm, or else the CPU)")
      ->check(not_empty());
  add_rule_options(command, options);
}

ChosenBackend choose_backend(const BackendOptions& options,
                             const std::string& when_left_out,
                             const SelectionQuestion& question) {
  BackendRequest request;
  request.backend = options.backend;
  if (request.backend.empty()) {
    request.backend = options.as_vllm ? kAutomaticBackend : when_left_out;
  }
  request.target = options.target;
  request.as_vllm = options.as_vllm;
  if (!options.gpu.empty()) request.gpu = capability_of_gpu(options.gpu);
  return choose_backend(request, question);
}

SelectionQuestion question_of_model(const LlamaConfig& config,
                                    std::optional<std::int64_t> block_size) {
  SelectionQuestion question;
  question.config.head_size = config.head_dim;
  question.config.dtype = "float32";
  question.config.kv_cache_dtype = "auto";
  question.config.block_size = block_size;
  ModelConfig& model = question.model.emplace();
  model.head_size = config.head_dim;
  model.num_heads = config.num_attention_heads;
  model.num_kv_heads = config.num_key_value_heads;
  return question;
}

std::optional<DeviceCapability> capability_as_vllm(const RuleOptions& options,
                                                   const std::string& target) {
  if (!options.as_vllm) {
    if (!options.gpu.empty()) {
      refuse("--gpu {} has no effect on pagelab's own rules: add --as-vllm.", options.gpu);
    }
    return std::nullopt;
  }
  return options.gpu.empty() ? capability_of_target(target) : capability_of_gpu(options.gpu);
}

void print_log(const std::vector<std::string>& log) {
  for (const std::string& line : log) fmt::print("{}\n", line);
}

bool target_is_available(const std::string& target, std::string* why_not) {
  const std::vector<std::string> targets = available_targets();
  const bool available = std::find(targets.begin(), targets.end(), target) != targets.end();
  if (!available && why_not != nullptr) {
    *why_not = fmt::format("target {} is not present on this machine.", target);
    if (target == "cuda") cuda_is_available(why_not);
  }
  return available;
}

}  // namespace pagelab::cli
