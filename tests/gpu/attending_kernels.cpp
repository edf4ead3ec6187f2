#include "tests/gpu/attending_kernels.h"

#include <doctest/doctest.h>

#include "gpu/backends/flex_attention.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "reference/contract/error.h"

namespace pagelab::test {

std::vector<AttendingKernel> attending_kernels(const std::shared_ptr<Device>& device) {
  const KernelSet kernels = kernels_of(*device);
  std::vector<AttendingKernel> attending;
  const auto add = [&](const auto& ladder) {
    for (const auto& rung : ladder) {
      attending.push_back({rung.name, make_backend_of_rung(device, rung)});
    }
  };
  add(kernels.paged_decode);
  add(kernels.paged_prefill);
  add(kernels.unified);
  attending.push_back({kernels.flex.name, make_flex_attention_backend(device)});
  return attending;
}

bool attends(const AttendingKernel& kernel, const AttentionStep& step, AttentionResult& result) {
  try {
    result = attend(step, *kernel.backend);
    return true;
  } catch (const Error& refusal) {
    CHECK_MESSAGE(std::string(refusal.what()).starts_with(kernel.name + ": "), refusal.what());
    return false;
  }
}

}  // namespace pagelab::test
