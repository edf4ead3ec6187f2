#include "simulator/engine/cudagraph/batch_descriptor.h"

#include <fmt/format.h>

namespace pagelab {
namespace {

std::string adapters_of(std::int64_t num_active_loras) {
  return num_active_loras == 0 ? "" : fmt::format(", {} adapters", num_active_loras);
}

}  // namespace

std::string to_string(const BatchDescriptor& descriptor) {
  std::string text = fmt::format("{} tokens", descriptor.num_tokens);
  if (descriptor.num_reqs) text += fmt::format(", {} requests", *descriptor.num_reqs);
  if (descriptor.uniform) text += ", uniform";
  return text + adapters_of(descriptor.num_active_loras);
}

std::string to_string(const CudagraphDispatch& dispatch) {
  return fmt::format("{} of {}", to_string(dispatch.mode), to_string(dispatch.descriptor));
}

std::string to_string(const BatchExecutionDescriptor& descriptor) {
  std::string text =
      fmt::format("{}: {} tokens", to_string(descriptor.cg_mode), descriptor.num_tokens);
  if (descriptor.num_reqs) text += fmt::format(", {} requests", *descriptor.num_reqs);
  if (descriptor.uniform_token_count)
    text += fmt::format(" of {}", *descriptor.uniform_token_count);
  if (descriptor.max_query_len) text += fmt::format(" of up to {}", *descriptor.max_query_len);
  return text + adapters_of(descriptor.num_active_loras);
}

}  // namespace pagelab
