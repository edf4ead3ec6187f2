// NAIVE against REFERENCE_FLOAT: the same bits, in every case that anyone thought of.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "gpu/backends/naive.h"
#include "reference/contract/step_folder.h"
#include "reference/registry/reference_backends.h"
#include "simulator/simt/launch.h"
#include "tests/cases/attention_cases.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Cache arrays as they lie in memory, poison and all.
void check_same_cache(const KvCache& got, const KvCache& expected) {
  REQUIRE(got.arrays().size() == expected.arrays().size());
  for (std::size_t index = 0; index < expected.arrays().size(); ++index) {
    check_identical("cache array", got.arrays()[index], expected.arrays()[index]);
  }
}

void check_same_bits(const AttentionStep& step, const std::shared_ptr<Device>& device) {
  const AttentionResult expected = attend(step, *make_reference_float_backend());
  const AttentionResult got = attend(step, *make_naive_backend(device));
  check_identical("output", got.output, expected.output);
  check_identical("lse", got.lse, expected.lse);
  check_same_cache(got.cache, expected.cache);
}

void check_table_of_cases(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const std::uint64_t seed_offset : {0u, 3000u}) {
    for (const AttentionCase& attention_case : attention_cases(seed_offset)) {
      CAPTURE(attention_case.name);
      CAPTURE(attention_case.seed);
      check_same_bits(attention_case.step(), device);
    }
  }
}

// Exact traps are compared with the values worked out by hand, and all with the reference's bits.
void check_traps(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const AttentionTrap& trap : attention_traps()) {
    CAPTURE(trap.name);
    check_same_bits(trap.step, device);
    if (!trap.is_exact) continue;
    const AttentionResult got = attend(trap.step, *make_naive_backend(device));
    for (std::int64_t index = 0; index < trap.output.size(); ++index) {
      CAPTURE(index);
      CHECK(got.output.value(index) == trap.output.value(index));
    }
  }
  for (const AttentionTwins& twins : attention_twins()) {
    CAPTURE(twins.name);
    const AttentionResult one = attend(twins.one, *make_naive_backend(device));
    const AttentionResult other = attend(twins.other, *make_naive_backend(device));
    check_identical("output", one.output, other.output);
    check_identical("lse", one.lse, other.lse);
    check_same_bits(twins.one, device);
  }
}

void check_golden_steps(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  int num_steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    const StepFolder folder = read_step_folder(entry.path());
    check_same_bits(folder.step, device);
    ++num_steps;
  }
  CHECK(num_steps == 16);
}

// With one visible key, p = l = 1 and the output is the value itself: every code of every format
// goes through the kernel's decoding.
void check_every_code(DType dtype, const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  CAPTURE(to_string(dtype));
  const std::int64_t num_codes = std::int64_t{1} << (8 * bytes_of(dtype));
  RandomStepOptions options;
  options.kv_cache_dtype = dtype;
  options.num_kv_heads = 1;
  options.num_query_heads = 1;
  options.head_size = 1;
  options.head_size_v = 256;
  options.requests.assign(static_cast<std::size_t>(num_codes / 256), {1, 1});
  AttentionStep step = random_step(options, 5);
  step.metadata.slot_mapping.assign(step.metadata.slot_mapping.size(), kNoSlot);
  step.cache.v_scale = {is_fp8(dtype) ? 0.3f : 1.0f};
  Tensor keys(dtype, step.cache.keys().shape());  // zeros, so that every score is 0
  Tensor values = step.cache.values();
  for (std::int64_t req_idx = 0; req_idx < num_codes / 256; ++req_idx) {
    const std::int64_t slot =
        slot_of(step.metadata.block_table.row(req_idx), 0, step.cache.spec().block_size);
    for (std::int64_t d = 0; d < 256; ++d) {
      const std::int64_t code = req_idx * 256 + d;
      std::memcpy(values.bytes() + (slot * 256 + d) * bytes_of(dtype), &code,
                  static_cast<std::size_t>(bytes_of(dtype)));
    }
  }
  step.cache.assign(keys, values);
  check_same_bits(step, device);
}

void check_every_code(const std::shared_ptr<Device>& device) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFp8E4M3, DType::kFp8E5M2}) {
    check_every_code(dtype, device);
  }
}

// Infinities and NaN of several signs and payloads in keys and values that are seen: they reach the
// results as they do in the reference, and every NaN there is the GPU's.
void check_extraordinary_numbers(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  const float infinity = std::numeric_limits<float>::infinity();
  const float extraordinary[] = {-infinity, infinity, float_from_bits(0xffc00123u),
                                 float_from_bits(0x7fc00000u), 0.0f};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomStepOptions options;
    options.head_size = 2;
    options.requests = {{1, 1}, {2, 2}, {1, 3}, {1, 6}};
    options.sinks = seed % 3 == 0;
    AttentionStep step = random_step(options, seed);
    Random random(seed);
    for (Tensor* array : {&step.query, &step.key, &step.value}) {
      for (std::int64_t index = 0; index < array->size(); ++index) {
        if (random.whole(0, 3) != 0) continue;
        array->data<float>()[index] = extraordinary[random.whole(0, 4)];
      }
    }
    check_same_bits(step, device);
  }
  // A visible key whose score is −∞ is not the same as no visible key: the weights are NaN.
  RandomStepOptions options;
  options.num_query_heads = options.num_kv_heads = options.head_size = options.head_size_v = 1;
  options.requests = {{1, 1}};
  AttentionStep step = random_step(options, 1);
  step.query.data<float>()[0] = 1.0f;
  step.key.data<float>()[0] = -infinity;
  check_same_bits(step, device);
  const AttentionResult got = attend(step, *make_naive_backend(device));
  CHECK(bits_of(got.output.data<float>()[0]) == 0x7fffffffu);
  CHECK(bits_of(got.lse.data<float>()[0]) == 0x7fffffffu);
}

// K8, K9: sizes where kernels with tiles lose keys. With query 0 all weights are equal.
void check_mean_of_positions(std::int64_t block_size,
                             std::int32_t seq_len,
                             bool causal,
                             const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  CAPTURE(block_size);
  CAPTURE(seq_len);
  RandomStepOptions options;
  options.block_size = block_size;
  options.num_query_heads = 8;
  options.num_kv_heads = 2;
  options.head_size = 128;
  options.head_size_v = 128;
  options.causal = causal;
  options.requests = {{1, seq_len}};
  AttentionStep step = random_step(options, 11);
  step.metadata.slot_mapping = {kNoSlot};
  std::fill(step.query.bytes(), step.query.bytes() + step.query.size_in_bytes(), std::byte{0});
  Tensor values = step.cache.values();
  for (std::int64_t position = 0; position < seq_len; ++position) {
    const std::int64_t slot = slot_of(step.metadata.block_table.row(0), position, block_size);
    std::fill_n(values.data<float>() + slot * 2 * 128, 2 * 128, static_cast<float>(position));
  }
  Tensor keys(DType::kFloat32, step.cache.keys().shape());
  step.cache.assign(keys, values);

  const AttentionResult got = attend(step, *make_naive_backend(device));
  // Weights are exp2(0) = 1, so the sums are whole numbers: the mean of 0 … n − 1 is exact.
  const float mean = static_cast<float>(seq_len - 1) / 2.0f;
  for (std::int64_t index = 0; index < got.output.size(); ++index) {
    CHECK(got.output.data<float>()[index] == mean);
  }
}

void check_block_sizes(const std::shared_ptr<Device>& device) {
  for (const bool causal : {false, true}) {
    check_mean_of_positions(16, 257, causal, device);
    check_mean_of_positions(16, 17, causal, device);
    for (std::int64_t block_size : {1, 16, 32, 64, 128, 256}) {
      check_mean_of_positions(block_size, static_cast<std::int32_t>(block_size), causal, device);
      check_mean_of_positions(block_size, static_cast<std::int32_t>(block_size) + 1, causal,
                              device);
    }
  }
}

}  // namespace

TEST_SUITE("naive attention") {
  TEST_CASE("NAIVE has the bits of REFERENCE_FLOAT in every case of the table (simulators)") {
    for (const auto& device : simulators()) check_table_of_cases(device);
  }
  TEST_CASE("NAIVE has the bits of REFERENCE_FLOAT in every case of the table (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("NAIVE falls into none of the traps R1 to R8 and R10 and K4 to K18 (simulators)") {
    for (const auto& device : simulators()) check_traps(device);
  }
  TEST_CASE("NAIVE falls into none of the traps R1 to R8 and R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(device);
  }

  TEST_CASE("NAIVE has the bits of REFERENCE_FLOAT in the sixteen golden steps (simulators)") {
    for (const auto& device : simulators()) check_golden_steps(device);
  }
  TEST_CASE("NAIVE has the bits of REFERENCE_FLOAT in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(device);
  }

  TEST_CASE("R11: every code of every small format is read alike (simulators)") {
    for (const auto& device : simulators()) check_every_code(device);
  }
  TEST_CASE("R11: every code of every small format is read alike (GPU)") {
    if (const auto device = gpu_or_skip()) check_every_code(device);
  }

  TEST_CASE("infinities and NaN reach the results as in the reference (simulators)") {
    for (const auto& device : simulators()) check_extraordinary_numbers(device);
  }
  TEST_CASE("infinities and NaN reach the results as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_extraordinary_numbers(device);
  }

  TEST_CASE("K8 and K9: no block size loses a key or counts one too many (simulators)") {
    for (const auto& device : simulators()) check_block_sizes(device);
  }
  TEST_CASE("K8 and K9: no block size loses a key or counts one too many (GPU)") {
    if (const auto device = gpu_or_skip()) check_block_sizes(device);
  }

  TEST_CASE("K16 and K17: neighbours and blocks change no bit of NAIVE (simulator)") {
    check_neighbours(*make_naive_backend(simulator_device()), DType::kFloat32);
  }
  TEST_CASE("K16 and K17: neighbours and blocks change no bit of NAIVE (GPU)") {
    if (const auto device = gpu_or_skip()) {
      check_neighbours(*make_naive_backend(device), DType::kFloat32);
    }
  }

  TEST_CASE("the order in which the simulator runs threads does not change a bit") {
    for (const auto& device : simulators()) {
      CAPTURE(device->name());
      for (const simt::ThreadOrder order :
           {simt::ThreadOrder::kDescending, simt::ThreadOrder::kShuffled}) {
        const simt::ScopedThreadOrder scope(order, 17);
        for (const AttentionCase& attention_case : attention_cases()) {
          CAPTURE(attention_case.name);
          check_same_bits(attention_case.step(), device);
        }
      }
    }
  }
}
