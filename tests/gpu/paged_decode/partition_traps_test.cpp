// K6, C1 and C2 for every rung of decode: the last column of a table that is exactly wide enough, partitions in which
// a row sees nothing, and partitions of unequal weight.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reference/cache/slot_mapping.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/paged_decode/decode_checks.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

RandomStepOptions small_heads(std::vector<RequestLens> requests) {
  RandomStepOptions options;
  options.num_query_heads = 2;
  options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 16;
  options.block_size = 16;
  options.requests = std::move(requests);
  return options;
}

// Copies the last tokens of the only request of one step over those of another.
void copy_last_tokens(const AttentionStep& from, AttentionStep& to, std::int64_t num_tokens) {
  const std::int64_t block_size = from.cache.spec().block_size;
  const auto copy = [&](Tensor source, Tensor target) {
    const std::int64_t row_bytes = 16 * bytes_of(source.dtype());
    for (std::int64_t back = 1; back <= num_tokens; ++back) {
      const std::int64_t from_slot =
          slot_of(from.metadata.block_table.row(0), from.metadata.seq_lens[0] - back, block_size);
      const std::int64_t to_slot =
          slot_of(to.metadata.block_table.row(0), to.metadata.seq_lens[0] - back, block_size);
      std::memcpy(static_cast<std::byte*>(target.bytes()) + to_slot * row_bytes,
                  static_cast<const std::byte*>(source.bytes()) + from_slot * row_bytes,
                  static_cast<std::size_t>(row_bytes));
    }
    return target;
  };
  to.cache.assign(copy(from.cache.keys(), to.cache.keys()),
                  copy(from.cache.values(), to.cache.values()));
  to.query = from.query;
  to.key = from.key;
  to.value = from.value;
}

// A row that sees keys of its fifth partition alone, and the same keys as a first partition.
void check_empty_partitions(int rung, const std::shared_ptr<Device>& device) {
  const std::int32_t len = 300;
  RandomStepOptions options = *options_for(rung, small_heads({{1, len}}));
  options.window_left = 100;
  const AttentionStep first = random_step(options, 41);
  options.requests = {{1, 4 * 512 + len}};
  AttentionStep fifth = random_step(options, 42);
  copy_last_tokens(first, fifth, len);
  check_same_bits(decode_by(rung, fifth, device), decode_by(rung, first, device));
}

// A row that sees the beginning of its context and, 1,500 keys later, a window: two partitions of four are empty.
void check_empty_partitions_between(int rung, const std::shared_ptr<Device>& device) {
  RandomStepOptions options = *options_for(rung, small_heads({{1, 4 * 512}}));
  options.window_left = 20;
  AttentionStep step = random_step(options, 43);
  step.variant.mm_prefix_ranges = {{.req_idx = 0, .first = 30, .last = 4 * 512 - 1}};
  check_decode_bound(rung, step, decode_by(rung, step, device));
  // The same range ends before the query: then only the window is seen.
  step.variant.mm_prefix_ranges = {{.req_idx = 0, .first = 30, .last = 90}};
  const AttentionResult window_alone = decode_by(rung, step, device);
  step.variant.mm_prefix_ranges = {};
  check_same_bits(window_alone, decode_by(rung, step, device));
}

// Queries of zeros: every key has the score 0. The 512 keys of the first partition have values of 0, those after
// it values of 4, so the mean is 4 · rest / (512 + rest).
void check_unequal_partitions(int rung, const std::shared_ptr<Device>& device) {
  for (const std::int32_t rest : {1, 171, 700}) {
    CAPTURE(rest);
    AttentionStep step = random_step(*options_for(rung, small_heads({{1, 512 + rest}})), 44);
    const DType dtype = step.query.dtype();
    step.query = convert(Tensor(DType::kFloat32, step.query.shape()), dtype);  // zeros
    Tensor values = convert(step.cache.values(), DType::kFloat32);
    for (std::int64_t position = 0; position < 512 + rest; ++position) {
      const std::int64_t slot = slot_of(step.metadata.block_table.row(0), position, 16);
      std::fill_n(values.data<float>() + slot * 16, 16, position < 512 ? 0.0f : 4.0f);
    }
    step.cache.assign(step.cache.keys(), convert(values, dtype));
    Tensor last = convert(step.value, DType::kFloat32);
    std::fill_n(last.data<float>(), 16, 4.0f);
    step.value = convert(last, dtype);
    const AttentionResult got = decode_by(rung, step, device);
    const double mean = 4.0 * rest / (512.0 + rest);
    CHECK(got.output.value(0) == doctest::Approx(mean).epsilon(1e-6));
    CHECK(got.lse.value(0) == doctest::Approx(std::log(512.0 + rest)).epsilon(1e-6));
  }
}

template <typename Check>
void on_every_rung(int first_rung, const Check& check) {
  for (int rung = first_rung; rung <= kLastRung; ++rung) {
    CAPTURE(rung);
    for (const auto& device : simulators()) check(rung, device);
  }
}

template <typename Check>
void on_gpu(int first_rung, const Check& check) {
  const auto device = gpu_or_skip();
  if (!device) return;
  for (int rung = first_rung; rung <= kLastRung; ++rung) {
    CAPTURE(rung);
    check(rung, device);
  }
}

}  // namespace

TEST_SUITE("paged decode in partitions") {
  TEST_CASE("K6: no rung reads past a table of exactly the columns that it needs") {
    // The table is an array of its own: the checked simulator reports a read of its sixth column.
    for (int rung = 1; rung <= kLastRung; ++rung) {
      CAPTURE(rung);
      AttentionStep step = random_step(*options_for(rung, small_heads({{1, 65}})), 6);
      BlockTable& table = step.metadata.block_table;
      table.entries.resize(5);
      table.max_blocks_per_req = 5;
      check_decode_bound(rung, step, decode_by(rung, step, checked_simulator_device()));
    }
  }

  TEST_CASE("C1: partitions in which a row sees nothing change no bit (simulators)") {
    on_every_rung(kFirstRung, check_empty_partitions);
    on_every_rung(kFirstRung, check_empty_partitions_between);
  }
  TEST_CASE("C1: partitions in which a row sees nothing change no bit (GPU)") {
    on_gpu(kFirstRung, check_empty_partitions);
    on_gpu(kFirstRung, check_empty_partitions_between);
  }

  TEST_CASE("C2: partitions of unequal length weigh what their sums say (simulators)") {
    on_every_rung(kFirstRung, check_unequal_partitions);
  }
  TEST_CASE("C2: partitions of unequal length weigh what their sums say (GPU)") {
    on_gpu(kFirstRung, check_unequal_partitions);
  }
}
