#include "tests/gpu/cascade/cascade_runs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer.h"
#include "reference/contract/compare.h"
#include "reference/numerics/cascade_bound.h"
#include "reference/registry/reference_backends.h"

namespace pagelab::test {

std::vector<CascadingBackend> cascading_backends() {
  const auto flash_attn = [](const FlashAttnOptions& options) {
    return [options](const std::shared_ptr<Device>& device) {
      return make_flash_attn_backend(device, options);
    };
  };
  return {{"FLASH_ATTN", flash_attn({}), true},
          {"FLASH_ATTN by the batch", flash_attn({.batch_invariant = false}), false},
          {"FLASHINFER", make_flashinfer_backend, true}};
}

std::vector<CascadeCase> cascade_cases_for(const Device& device, std::size_t first) {
  const std::size_t stride = device.kind() == DeviceKind::kCuda        ? 1
                             : device.kind() == DeviceKind::kSimulator ? 2
                                                                       : 8;
  std::vector<CascadeCase> cases;
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    const std::vector<CascadeCase> table = cascade_cases(dtype);
    for (std::size_t index = first % stride; index < table.size(); index += stride) {
      cases.push_back(table[index]);
    }
  }
  return cases;
}

double check_cascade(const CascadeCase& row, const AttentionBackend& backend) {
  CAPTURE(row.name);
  CAPTURE(row.seed);
  const AttentionStep step = row.step();
  const AttentionResult expected = attend(step, *make_reference_backend());
  const AttentionResult got = attend_cascade(step, row.num_common_prefix_blocks, backend);
  AttentionStep stored = step;
  stored.cache = expected.cache;
  const ErrorBound bound =
      cascade_error_bound(stored, row.num_common_prefix_blocks,
                          backend.cascade_precision(stored, row.num_common_prefix_blocks));
  const Comparison output = compare_within(got.output, expected.output, bound.output);
  const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  return std::max(output.worst_share_of_bound, lse.worst_share_of_bound);
}

std::vector<CascadeCase> few_cascades() {
  std::vector<CascadeCase> cases;
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    CascadeCase row;
    row.seed = 21;
    row.name = "decodes";
    row.options.dtype = dtype;
    row.options.head_size = 32;
    row.options.head_size_v = 16;
    row.options.block_size = 16;
    row.options.requests = {{1, 65}, {1, 49}, {1, 100}};
    row.num_common_prefix_blocks = row.options.shared_prefix_blocks = 3;
    cases.push_back(row);
    row.name = "decodes and longer queries";
    row.options.requests = {{1, 65}, {7, 60}, {1, 100}, {20, 70}};
    row.options.padding_rows = 2;
    cases.push_back(row);
  }
  return cases;
}

}  // namespace pagelab::test
