// S1: what a shared prefix saves, counted. The simulator counts what a kernel asks of global memory. Caches are not
// modelled: a GPU's L2 serves some of what is asked for again.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>

#include "gpu/backends/flash_attn.h"
#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"
#include "simulator/engine/step/cascade_decision.h"
#include "simulator/simt/counters.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

#if defined(PAGELAB_HAS_CHECKED_KERNELS)
namespace {

// Decodes of 4 query and 1 KV heads of 64 in bfloat16, blocks of 16.
AttentionStep decodes(std::int64_t num_reqs, std::int32_t prefix_len, std::int32_t own_len) {
  RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.num_query_heads = 4;
  options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 64;
  options.block_size = 16;
  options.requests.assign(static_cast<std::size_t>(num_reqs), {1, prefix_len + own_len});
  options.shared_prefix_blocks = prefix_len / 16;
  return random_step(options, 5);
}

struct Traffic {
  std::uint64_t flat = 0;     // sectors of 32 bytes
  std::uint64_t cascade = 0;  // likewise
};

std::uint64_t sectors_of(const std::vector<simt::LaunchCounters>& launches) {
  std::uint64_t sectors = 0;
  for (const simt::LaunchCounters& launch : launches) sectors += launch.totals.all_memory().sectors;
  return sectors;
}

Traffic counted(const AttentionStep& step, std::int64_t num_blocks) {
  const auto backend =
      make_flash_attn_backend(checked_simulator_device(), {.batch_invariant = false});
  Traffic traffic;
  {
    const simt::ScopedCounting counting;
    attend(step, *backend);
    traffic.flat = sectors_of(counting.launches());
  }
  const simt::ScopedCounting counting;
  attend_cascade(step, num_blocks, *backend);
  traffic.cascade = sectors_of(counting.launches());
  return traffic;
}

}  // namespace

TEST_SUITE("cascade attention on devices") {
  TEST_CASE("S1: counted bytes favour a cascade of eight requests but not one of two short ones") {
    // The table of docs/cascade.md. The first and the last row are the trap's.
    const struct {
      std::int64_t num_reqs;
      std::int32_t prefix_len;
      bool pays;
    } rows[] = {{8, 1024, true}, {16, 512, true}, {8, 64, true}, {2, 32, false}};
    for (const auto& row : rows) {
      CAPTURE(row.num_reqs);
      CAPTURE(row.prefix_len);
      const Traffic traffic =
          counted(decodes(row.num_reqs, row.prefix_len, 16), row.prefix_len / 16);
      const CascadeSetting setting = {.num_query_heads = 4, .num_kv_heads = 1};
      const CascadeTraffic model =
          cascade_traffic(row.num_reqs, row.prefix_len, 16, setting, 64, 2);
      const std::vector<std::int64_t> query_lens(static_cast<std::size_t>(row.num_reqs), 1);
      const CascadeDecision rule = flash_attn_cascade_decision(row.prefix_len, query_lens, setting);
      fmt::print(
          "{} requests, {} tokens in common, 16 of their own: counted {} bytes flat, {} in a "
          "cascade; "
          "by the model {} and {}; vLLM's rule: {}, {}\n",
          row.num_reqs, row.prefix_len, traffic.flat * 32, traffic.cascade * 32, model.flat_bytes,
          model.cascade_bytes, rule.use ? "cascade" : "flat", rule.reason);
      CHECK((traffic.cascade < traffic.flat) == row.pays);
      CHECK((model.cascade_bytes < model.flat_bytes) == row.pays);
    }
  }
}
#endif
