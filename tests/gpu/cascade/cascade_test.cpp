// Cascade attention of FLASH_ATTN and FLASHINFER: within the derived bound of REFERENCE over all keys at once, the
// bits of their own kernels over the two parts, and no bit from neighbours, blocks or the order of threads.

#include "reference/attention/cascade.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu/backends/cascade.h"
#include "gpu/backends/flash_attn.h"
#include "gpu/backends/kernel_impl.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "reference/attention/merge_states.h"
#include "reference/contract/error.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/cascade/cascade_runs.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_cases_on(const std::shared_ptr<Device>& device) {
  std::size_t first = 0;
  for (const CascadingBackend& backend : cascading_backends()) {
    CAPTURE(backend.name);
    UsedShare used;
    for (const CascadeCase& row : cascade_cases_for(*device, first++)) {
      used.add(check_cascade(row, *backend.on(device)));
    }
    used.print((std::string("cascade of ") + backend.name).c_str(), *device);
  }
}

// The parts attended by one kernel each, as steps of their own, and merged by the reference in float.
AttentionResult by_hand(const CascadeCase& row,
                        const std::shared_ptr<Device>& device,
                        const TableRung<PagedAttentionParams>& prefix_rung,
                        const TableRung<PagedAttentionParams>& suffix_rung) {
  AttentionStep step = row.step();
  step.cache = attend(step, *make_naive_backend(device)).cache;
  const CascadeParts parts = split_cascade(
      step.metadata, step.variant, step.cache.spec().block_size, row.num_common_prefix_blocks);
  const auto attended = [&](const auto& rung, const auto& metadata, const auto& variant) {
    const auto impl = make_backend_of_rung(device, rung)->make_impl(step.cache);
    AttentionStates states;
    impl->forward(step.query, step.key, step.value, metadata, variant, states.output, states.lse);
    return states;
  };
  const AttentionStates merged =
      merge_states(attended(prefix_rung, parts.prefix, parts.prefix_variant),
                   attended(suffix_rung, parts.suffix, parts.suffix_variant));
  return {merged.output, merged.lse, step.cache};
}

void check_kernels(const std::shared_ptr<Device>& device) {
  const KernelSet kernels = kernels_of(*device);
  const auto& varlen = kernels.paged_prefill[2];
  const auto& split_kv = kernels.paged_decode[6];
  const CascadeCase decodes = few_cascades()[0];
  const CascadeCase mixed = few_cascades()[1];
  const auto got = [&](const CascadeCase& row, const FlashAttnOptions& options) {
    return attend_cascade(row.step(), row.num_common_prefix_blocks,
                          *make_flash_attn_backend(device, options));
  };
  const FlashAttnOptions by_the_batch = {.batch_invariant = false};
  check_same_bits(got(decodes, {}), by_hand(decodes, device, varlen, varlen));
  check_same_bits(got(decodes, by_the_batch),
                  by_hand(decodes, device, kernels.cascade_prefix, split_kv));
  check_same_bits(got(mixed, by_the_batch), by_hand(mixed, device, varlen, varlen));
}

// vLLM shifts the table instead of copying its columns: the rows keep their stride.
void check_shifted_table(const std::shared_ptr<Device>& device) {
  for (const CascadeCase& row : few_cascades()) {
    CAPTURE(row.name);
    AttentionStep step = row.step();
    step.cache = attend(step, *make_naive_backend(device)).cache;
    const CascadeParts parts = split_cascade(
        step.metadata, step.variant, step.cache.spec().block_size, row.num_common_prefix_blocks);
    const DeviceKvCache cache(device, step.cache);
    const HostBatch batch{step.query, step.key, step.value, step.metadata, step.variant};
    const DeviceBatch whole(device, batch, cache);
    const DeviceBatch suffix(device, suffix_batch(batch, parts), cache);
    const AttentionRung& rung = kernels_of(*device).paged_prefill[0];
    launch_rung(device, rung, suffix.params());
    PagedAttentionParams shifted = whole.params();
    shifted.block_table = shifted.block_table + row.num_common_prefix_blocks;
    shifted.seq_lens = suffix.params().seq_lens;
    shifted.max_seq_len = suffix.params().max_seq_len;
    launch_rung(device, rung, shifted);
    AttentionResult got;
    AttentionResult expected;
    whole.copy_results_to(got.output, got.lse);
    suffix.copy_results_to(expected.output, expected.lse);
    check_same_bits(got, expected);
  }
}

// Eight decodes of a Llama-3-8B layer.
CascadeCase llama_decodes() {
  CascadeCase row = few_cascades()[0];
  row.name = "decodes of a Llama-3-8B layer";
  row.options.num_query_heads = 32;
  row.options.num_kv_heads = 8;
  row.options.head_size = row.options.head_size_v = 128;
  row.options.requests = {{1, 1040}, {1, 1041}, {1, 1280}, {1, 1025},
                          {1, 1100}, {1, 1072}, {1, 1056}, {1, 1030}};
  row.num_common_prefix_blocks = row.options.shared_prefix_blocks = 64;
  return row;
}

// One KV head of a Llama-3-8B layer: 64 decodes that share 8,192 tokens, with 256 of their own.
CascadeCase many_decodes() {
  CascadeCase row = llama_decodes();
  row.name = "64 decodes behind 8,192 tokens";
  row.options.num_query_heads = 4;
  row.options.num_kv_heads = 1;
  row.options.requests.assign(64, {1, 8192 + 256});
  row.num_common_prefix_blocks = row.options.shared_prefix_blocks = 512;
  return row;
}

// Within the bound, flat and in a cascade, and both with the simulator's bits.
void check_many_decodes(const std::shared_ptr<Device>& gpu) {
  const CascadeCase row = many_decodes();
  const AttentionStep step = row.step();
  const CascadingBackend backend = cascading_backends()[1];
  const auto on_gpu = backend.on(gpu);
  const auto simulated = backend.on(simulator_device());
  const AttentionResult flat = attend(step, *on_gpu);
  check_same_bits(flat, attend(step, *simulated));
  check_same_bits(attend_cascade(step, 512, *on_gpu), attend_cascade(step, 512, *simulated));
  const double share = check_cascade(row, *on_gpu);
  std::printf("%s by %s: up to %.1f %% of the bound in use flat, %.1f %% in a cascade\n",
              row.name.c_str(), backend.name, 100.0 * check_within_bound(step, flat, *on_gpu),
              100.0 * share);
}

// Flat and in a cascade.
void check_simulator_bits(const std::shared_ptr<Device>& gpu) {
  std::vector<CascadeCase> cases = few_cascades();
  cases.push_back(llama_decodes());
  for (const CascadingBackend& backend : cascading_backends()) {
    CAPTURE(backend.name);
    for (const CascadeCase& row : cases) {
      CAPTURE(row.name);
      const AttentionStep step = row.step();
      const auto on_gpu = backend.on(gpu);
      const auto simulated = backend.on(simulator_device());
      check_same_bits(attend(step, *on_gpu), attend(step, *simulated));
      check_same_bits(attend_cascade(step, row.num_common_prefix_blocks, *on_gpu),
                      attend_cascade(step, row.num_common_prefix_blocks, *simulated));
    }
    const double share = check_cascade(llama_decodes(), *backend.on(gpu));
    std::printf("a Llama-3-8B layer by %s: up to %.1f %% of the bound in use\n", backend.name,
                100.0 * share);
  }
}

// One request, alone and among others with its prefix: the same bits.
void check_neighbours_of_a_cascade(const std::shared_ptr<Device>& device) {
  for (const CascadingBackend& backend : cascading_backends()) {
    if (!backend.is_invariant) continue;
    CAPTURE(backend.name);
    for (CascadeCase row : few_cascades()) {
      CAPTURE(row.name);
      const AttentionStep together = row.step();
      AttentionStep alone = together;
      const std::int64_t first_token = together.metadata.query_start_loc[2];
      const std::int64_t num_tokens = together.metadata.query_len(2);
      const auto rows_of = [&](const Tensor& all) {
        Tensor rows(all.dtype(), {num_tokens, all.shape()[1], all.shape()[2]});
        const std::int64_t row_bytes = rows.size_in_bytes() / num_tokens;
        std::copy_n(all.bytes() + first_token * row_bytes, rows.size_in_bytes(), rows.bytes());
        return rows;
      };
      alone.query = rows_of(together.query);
      alone.key = rows_of(together.key);
      alone.value = rows_of(together.value);
      const auto blocks = together.metadata.block_table.row(2);
      alone.metadata.query_start_loc = {0, static_cast<std::int32_t>(num_tokens)};
      alone.metadata.seq_lens = {together.metadata.seq_lens[2]};
      alone.metadata.block_table = BlockTable::from_rows({{blocks.begin(), blocks.end()}});
      const auto first_slot = together.metadata.slot_mapping.begin() + first_token;
      alone.metadata.slot_mapping = {first_slot, first_slot + num_tokens};
      const auto attended = [&](const AttentionStep& step) {
        return attend_cascade(step, row.num_common_prefix_blocks, *backend.on(device));
      };
      check_rows(attended(together), first_token, attended(alone), num_tokens);
    }
  }
}

}  // namespace

TEST_SUITE("cascade attention on devices") {
  TEST_CASE("a cascade is within the bound of REFERENCE over all keys at once (simulators)") {
    for (const auto& device : simulators()) check_cases_on(device);
  }
  TEST_CASE("a cascade is within the bound of REFERENCE over all keys at once (GPU)") {
    if (const auto device = gpu_or_skip()) check_cases_on(device);
  }

  TEST_CASE("a cascade of FLASH_ATTN has the bits of two kernels and a merge (simulator)") {
    check_kernels(simulator_device());
  }
  TEST_CASE("a cascade of FLASH_ATTN has the bits of two kernels and a merge (GPU)") {
    if (const auto device = gpu_or_skip()) check_kernels(device);
  }

  TEST_CASE("a table shifted past the prefix has the bits of one with fewer columns (simulators)") {
    for (const auto& device : simulators()) check_shifted_table(device);
  }
  TEST_CASE("a table shifted past the prefix has the bits of one with fewer columns (GPU)") {
    if (const auto device = gpu_or_skip()) check_shifted_table(device);
  }

  TEST_CASE("the GPU has the bits of the simulator with and without a cascade (GPU)") {
    if (const auto device = gpu_or_skip()) check_simulator_bits(device);
  }
  TEST_CASE("64 decodes behind 8192 tokens are within the bound with and without a cascade (GPU)") {
    if (const auto device = gpu_or_skip()) check_many_decodes(device);
  }

  TEST_CASE("K16: neighbours behind the same prefix change no bit of a cascade (simulator)") {
    check_neighbours_of_a_cascade(simulator_device());
  }
  TEST_CASE("K16: neighbours behind the same prefix change no bit of a cascade (GPU)") {
    if (const auto device = gpu_or_skip()) check_neighbours_of_a_cascade(device);
  }

  TEST_CASE("both simulators have the same bits of a cascade in every order of threads") {
    for (const CascadingBackend& backend : cascading_backends()) {
      CAPTURE(backend.name);
      for (const CascadeCase& row : few_cascades()) {
        CAPTURE(row.name);
        const AttentionStep step = row.step();
        const auto attended = [&](const std::shared_ptr<Device>& device) {
          return attend_cascade(step, row.num_common_prefix_blocks, *backend.on(device));
        };
        const AttentionResult expected = attended(simulator_device());
        on_simulators_in_all_orders([&](const std::shared_ptr<Device>& device) {
          check_same_bits(attended(device), expected);
        });
      }
    }
  }

  TEST_CASE("C3: a backend refuses a prefix that the block tables do not share") {
    CascadeCase row = few_cascades()[0];
    AttentionStep step = row.step();
    const std::int64_t width = step.metadata.block_table.max_blocks_per_req;
    std::swap(step.metadata.block_table.entries[static_cast<std::size_t>(width)],
              step.metadata.block_table.entries[static_cast<std::size_t>(width + 1)]);
    for (const CascadingBackend& backend : cascading_backends()) {
      CHECK_THROWS_WITH_AS(attend_cascade(step, 3, *backend.on(simulator_device())),
                           doctest::Contains("the prefix is not common"), Error);
    }
  }

  TEST_CASE("a backend without a cascade says so") {
    CHECK_THROWS_WITH_AS(
        attend_cascade(few_cascades()[0].step(), 3, *make_naive_backend(simulator_device())),
        "this backend has no cascade attention; REFERENCE, REFERENCE_FLOAT, FLASH_ATTN and "
        "FLASHINFER have.",
        Error);
  }
}
