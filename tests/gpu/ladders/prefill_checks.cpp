#include "tests/gpu/ladders/prefill_checks.h"

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"

namespace pagelab::test {
namespace {

TableRung<PagedAttentionParams> rung_of(int rung, const Device& device) {
  return kernels_of(device).paged_prefill[static_cast<std::size_t>(rung - 1)];
}

}  // namespace

std::vector<AttentionCase> prefill_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.num_query_heads = 2;
    options.num_kv_heads = 1;
    options.head_size = 16;
    options.head_size_v = 16;
    options.block_size = 16;
    change(options);
    cases.push_back({name, options, 900 + cases.size()});
  };
  add("one below, at and above a tile of 16 and 32", [](auto& o) {
    o.requests = {{15, 31}, {16, 32}, {17, 33}, {1, 32}, {1, 33}};
  });
  add("one below, at and above a tile of 64", [](auto& o) {
    o.requests = {{63, 63}, {64, 64}, {65, 65}, {1, 65}};
  });
  add("a chunk after a long context", [](auto& o) { o.requests = {{20, 150}, {3, 130}}; });
  add("a tile of 128 and a query more", [](auto& o) {
    o.requests = {{129, 130}};
    o.num_query_heads = 1;
  });
  add("a window that leaves out tiles on the left", [](auto& o) {
    o.requests = {{90, 170}, {5, 140}};
    o.window_left = 20;
  });
  add("a window on both sides across tiles", [](auto& o) {
    o.requests = {{100, 100}};
    o.causal = false;
    o.window_left = 9;
    o.window_right = 40;
  });
  add("prefix ranges with tiles between them that nobody sees", [](auto& o) {
    o.requests = {{70, 210}};
    o.mm_prefix = true;
    o.window_left = 3;
  });
  add("a query longer than its sequence by more than a tile", [](auto& o) {
    o.requests = {{1, 20}};
    o.query_excess = 90;
  });
  add("not causal across tiles, with every option of the scores", [](auto& o) {
    o.requests = {{40, 100}};
    o.causal = false;
    o.alibi = true;
    o.logit_softcap = 1.5;
    o.sinks = true;
  });
  return cases;
}

std::unique_ptr<AttentionBackend> prefill_backend(int rung, const std::shared_ptr<Device>& device) {
  return make_backend_of_rung(device, rung_of(rung, *device));
}

AttentionResult prefill_by(int rung,
                           const AttentionStep& step,
                           const std::shared_ptr<Device>& device) {
  return attend(step, *prefill_backend(rung, device));
}

}  // namespace pagelab::test
