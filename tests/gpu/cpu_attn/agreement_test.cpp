// CPU_ATTN against the reference in double: within the derived bound, element by element, with vectors
// of either width.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "reference/contract/compare.h"
#include "reference/contract/step_folder.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/reference_backends.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/cpu_attn/cpu_attn_runs.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Why the bound of one chain holds for 16 chains and a tree: a product passes as many roundings as its
// chain has elements, at most ceil(head_size / 16), and one for each level of the tree that adds
// something other than 0 to its part: at most 4, and at most log2(head_size) rounded up. That is never
// more than the head_size roundings of the chain. What the sums over keys pass, cpu_attn.cpp counts.
double share_of_bound(const AttentionStep& step, const AttentionResult& got) {
  const AttentionResult expected = attend(step, *make_reference_backend());
  AttentionStep stored = step;
  stored.cache = expected.cache;
  const ErrorBound bound = error_bound(stored, *make_cpu_attn_backend());
  const Comparison output = compare_within(got.output, expected.output, bound.output);
  const Comparison lse = compare_within(got.lse, expected.lse, bound.lse);
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
  return std::max(output.worst_share_of_bound, lse.worst_share_of_bound);
}

// Both widths of vector give the same bits, so one of them is compared with the reference.
AttentionResult attend_with_every_width(const AttentionStep& step) {
  const AttentionResult narrow = attend(step, *make_cpu_attn_backend(1, CpuAttnWidth::kAvx2));
  for (const CpuAttnWidth width : cpu_attn_widths()) {
    const AttentionResult got = attend(step, *make_cpu_attn_backend(1, width));
    check_identical("output", got.output, narrow.output);
    check_identical("lse", got.lse, narrow.lse);
  }
  return narrow;
}

}  // namespace

TEST_SUITE("CPU_ATTN agreement") {
  TEST_CASE("CPU_ATTN is within the bound in every case of the table and writes the same cache") {
    double worst_share = 0.0;
    for (const std::uint64_t seed_offset : {0u, 3000u}) {
      for (const AttentionCase& attention_case : attention_cases(seed_offset)) {
        CAPTURE(attention_case.name);
        CAPTURE(attention_case.seed);
        const AttentionStep step = attention_case.step();
        const AttentionResult got = attend_with_every_width(step);
        worst_share = std::max(worst_share, share_of_bound(step, got));
        const KvCache expected = attend(step, *make_reference_backend()).cache;
        check_identical("keys", got.cache.keys(), expected.keys());
        check_identical("values", got.cache.values(), expected.values());
      }
    }
    std::printf("up to %.1f %% of the bound in use\n", 100.0 * worst_share);
  }

  TEST_CASE("CPU_ATTN is within the bound where tiles and partitions and tasks end") {
    double worst_share = 0.0;
    for (const AttentionCase& attention_case : long_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = attention_case.step();
      const double share = share_of_bound(step, attend_with_every_width(step));
      worst_share = std::max(worst_share, share);
    }
    std::printf("up to %.1f %% of the bound in use\n", 100.0 * worst_share);
  }

  TEST_CASE("CPU_ATTN falls into none of the traps R1 to R8 and R10 and K4 to K18") {
    for (const AttentionTrap& trap : attention_traps()) {
      CAPTURE(trap.name);
      const AttentionResult got = attend_with_every_width(trap.step);
      share_of_bound(trap.step, got);
      if (!trap.is_exact) continue;
      check_identical("output", convert(got.output, DType::kFloat64), trap.output);
    }
    for (const AttentionTwins& twins : attention_twins()) {
      CAPTURE(twins.name);
      const AttentionResult one = attend_with_every_width(twins.one);
      const AttentionResult other = attend_with_every_width(twins.other);
      check_identical("output", one.output, other.output);
      check_identical("lse", one.lse, other.lse);
    }
  }

  TEST_CASE("CPU_ATTN is within the bound in the sixteen golden steps") {
    int num_steps = 0;
    for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
      if (!entry.is_directory()) continue;
      CAPTURE(entry.path().filename().string());
      const AttentionStep step = read_step_folder(entry.path()).step;
      share_of_bound(step, attend_with_every_width(step));
      ++num_steps;
    }
    CHECK(num_steps == 16);
  }
}
