// FLEX_ATTENTION: within the bound of REFERENCE in every case of the tables, and no bit changed by anything that
// is not the row's own.

#include <doctest/doctest.h>

#include "gpu/backends/flex_attention.h"
#include "reference/contract/error.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::unique_ptr<AttentionBackend> flex_on(const std::shared_ptr<Device>& device) {
  return make_flex_attention_backend(device);
}

// The table, then groups that span requests, lists of several tiles, and long heads.
std::vector<AttentionCase> flex_cases() {
  std::vector<AttentionCase> cases = attention_cases(9400);
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.head_size = options.head_size_v = 16;
    options.num_query_heads = 2;
    options.num_kv_heads = 1;
    options.block_size = 16;
    change(options);
    cases.push_back({name, options, 9500 + cases.size()});
  };
  add("twenty decodes in two groups", [](auto& o) {
    o.kind = BatchKind::kDecode;
    o.num_reqs = 20;
    o.max_seq_len = 70;
  });
  add("a prefill and decodes across groups", [](auto& o) {
    o.requests = {{1, 90}, {37, 40}, {1, 7}, {3, 100}};
  });
  add("prefix ranges with blocks between them that nobody sees", [](auto& o) {
    o.requests = {{20, 150}};
    o.mm_prefix = true;
    o.window_left = 3;
  });
  add("28 query heads on 4 KV heads", [](auto& o) {
    o.num_query_heads = 28;
    o.num_kv_heads = 4;
  });
  add("a long head in bfloat16", [](auto& o) {
    o.dtype = DType::kBFloat16;
    o.head_size = 256;
    o.head_size_v = 192;
  });
  return cases;
}

std::vector<AttentionCase> every(std::size_t stride, const std::vector<AttentionCase>& cases) {
  std::vector<AttentionCase> some;
  for (std::size_t index = 0; index < cases.size(); index += stride) some.push_back(cases[index]);
  return some;
}

void check_all(const std::shared_ptr<Device>& device) {
  const auto flex = flex_on(device);
  const std::size_t stride = device->kind() == DeviceKind::kCheckedSimulator ? 4 : 1;
  check_cases(every(stride, flex_cases()), *flex).print("FLEX_ATTENTION", *device);
  check_traps(*flex);
  check_neighbours(*flex, DType::kFloat32);
  check_extraordinary_numbers(*flex, DType::kFloat32);
  check_counts(*flex);
}

}  // namespace

TEST_SUITE("FLEX_ATTENTION") {
  TEST_CASE("FLEX_ATTENTION is within the bound and falls into no trap (simulators)") {
    for (const auto& device : simulators()) check_all(device);
  }
  TEST_CASE("FLEX_ATTENTION is within the bound and falls into no trap (GPU)") {
    if (const auto device = gpu_or_skip()) check_all(device);
  }

  TEST_CASE("FLEX_ATTENTION is within the bound in the sixteen golden steps (simulator)") {
    check_golden_steps(*flex_on(simulator_device()));
  }
  TEST_CASE("FLEX_ATTENTION is within the bound in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(*flex_on(device));
  }

  TEST_CASE("both simulators have the same bits of FLEX_ATTENTION in every order of threads") {
    std::vector<AttentionStep> steps;
    for (const AttentionCase& attention_case : every(11, flex_cases())) {
      steps.push_back(attention_case.step());
    }
    check_thread_orders(flex_on, steps);
  }

  TEST_CASE("FLEX_ATTENTION refuses a head of more than 256 elements by name") {
    RandomStepOptions options;
    options.head_size = 260;
    CHECK_THROWS_WITH_AS(attend(random_step(options, 1), *flex_on(simulator_device())),
                         "flex/1_block_mask: head_size is 260, but it must be from 1 to 256.",
                         Error);
  }
}
