#include "gpu/backends/choose_backend.h"

#include <algorithm>
#include <cctype>

#include "gpu/backends/register_backend.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/gpu_code.h"
#include "reference/contract/refuse.h"
#include "reference/registry/platforms.h"
#include "reference/registry/python_text.h"
#include "reference/registry/selection.h"
#include "reference/registry/validate_configuration.h"

namespace pagelab {
namespace {

bool is_automatic(const std::string& name) {
  const std::string automatic = kAutomaticBackend;
  return std::equal(name.begin(), name.end(), automatic.begin(), automatic.end(),
                    [](unsigned char a, char b) { return std::tolower(a) == b; });
}

std::vector<std::string> log_of(const Selection& selection) {
  std::vector<std::string> lines;
  if (selection.warning) lines.push_back("WARNING " + *selection.warning);
  if (selection.info) lines.push_back("INFO " + *selection.info);
  return lines;
}

// The size that vLLM's cache starts from; a backend that does not take it prefers another.
constexpr std::int64_t kUsualBlockSize = 16;

const BackendChoice& choice_named(const std::string& name, const std::vector<BackendChoice>& all) {
  return *std::find_if(all.begin(), all.end(),
                       [&name](const BackendChoice& choice) { return choice.name == name; });
}

bool is_registered(const std::string& name) {
  const std::deque<BackendChoice>& own = registered_backends();
  return std::any_of(own.begin(), own.end(),
                     [&name](const BackendChoice& choice) { return choice.name == name; });
}

// The open block size by the rows that count.
std::int64_t open_block_size(const BackendRequest& request,
                             const std::string& name,
                             const SelectionQuestion& question) {
  const std::vector<BackendChoice> all = all_backends();
  const BackendRegistry registry = registry_in_use();
  const BackendFacts& facts =
      request.as_vllm ? registry.load(name, question.environment) : choice_named(name, all).takes;
  return preferred_block_size(facts, question, kUsualBlockSize);
}

std::string where_choice_is_open(const BackendRequest& request) {
  if (!request.target.empty()) return request.target;
  if (cuda_is_available()) return "cuda";
  return request.gpu || request.as_vllm ? "simulator" : "cpu";
}

// Why pagelab cannot stand in for a backend of vLLM's, where vLLM would ask for it; empty if it can.
std::string missing_code(const std::string& name,
                         const std::string& target,
                         const SelectionQuestion& question) {
  for (const BackendChoice& own : all_backends()) {
    const bool runs_there =
        std::find(own.targets.begin(), own.targets.end(), target) != own.targets.end();
    if (own.name != name || !runs_there) continue;
    const std::vector<std::string> reasons = validate_configuration(own.takes, question);
    if (reasons.empty()) return "";
    return "pagelab's own " + name + " does not take this: " + comma_separated(reasons);
  }
  return "pagelab does not implement " + name + " on target " + target;
}

Selection select_on(const std::string& target,
                    SelectionQuestion question,
                    const BackendRegistry& registry) {
  if (target == "cpu") {
    constexpr bool kHasAmxTiles = false;  // they would matter for latent layers alone
    return select_attention_backend_on_cpu(question, std::nullopt, kHasAmxTiles, registry);
  }
  for (const std::string& name : registry.names()) {
    const std::string why_not = missing_code(name, target, question);
    if (!why_not.empty()) question.environment.not_implemented[name] = why_not;
  }
  return select_attention_backend(question, std::nullopt, registry);
}

ChosenBackend choose_automatically(const BackendRequest& request, SelectionQuestion question) {
  const std::string target = where_choice_is_open(request);
  if (target == "cpu" && request.gpu) {
    refuse("target cpu is no GPU, so whose rules would --gpu change? Leave one of them out.");
  }
  if (target != "cpu") {
    question.capability = request.gpu ? *request.gpu : capability_of_target(target);
  }
  const BackendRegistry registry = registry_in_use();
  const Selection selection = select_on(target, question, registry);
  if (selection.error) {
    refuse("{} (Those are vLLM's rules; a backend that is named goes by what pagelab's can do.)",
           selection.error->message);
  }
  return {make_backend(*selection.selected, target), log_of(selection),
          open_block_size(request, *selection.selected, question)};
}

ChosenBackend take_named(const BackendRequest& request, SelectionQuestion question) {
  const std::string target =
      request.target.empty() ? default_target_of(request.backend) : request.target;
  ChosenBackend chosen;
  chosen.backend = make_backend(request.backend, target);
  if (!request.as_vllm) {
    if (request.gpu) {
      refuse(
          "--gpu has no effect on {}, which runs by what pagelab's can do: add --as-vllm, or ask "
          "for the backend auto.",
          request.backend);
    }
    // One's own says in its row what it takes. Those of pagelab say it when they are called, with the
    // value and the bound.
    const std::string why_not =
        is_registered(request.backend) ? missing_code(request.backend, target, question) : "";
    if (!why_not.empty()) throw Error(why_not + ".");
    chosen.open_block_size = open_block_size(request, request.backend, question);
    return chosen;
  }
  question.capability = request.gpu ? *request.gpu : capability_of_target(target);
  const std::string refusal = refusal_as_vllm(request.backend, question);
  if (!refusal.empty()) throw Error(refusal);
  chosen.open_block_size = open_block_size(request, request.backend, question);
  chosen.log = {"INFO Using AttentionBackendEnum." + request.backend + " backend."};
  return chosen;
}

}  // namespace

DeviceCapability capability_of_target(const std::string& target) {
  if (target != "cuda") return {9, 0};
  const ComputeCapability capability = cuda_compute_capability();
  return {capability.major, capability.minor};
}

ChosenBackend choose_backend(const BackendRequest& request, SelectionQuestion question) {
  return is_automatic(request.backend) ? choose_automatically(request, std::move(question))
                                       : take_named(request, std::move(question));
}

bool is_known_to_vllm(const std::string& name) {
  const std::vector<std::string> members = registry_in_use().names();
  return std::find(members.begin(), members.end(), name) != members.end();
}

std::string refusal_as_vllm(const std::string& name, const SelectionQuestion& question) {
  if (!is_known_to_vllm(name)) {
    refuse("{} is none of vLLM's backends, so vLLM has no rules for it: leave --as-vllm out.",
           name);
  }
  const BackendRegistry registry = registry_in_use();
  const Selection selection = select_attention_backend(question, name, registry);
  return selection.error ? selection.error->message : "";
}

}  // namespace pagelab
