// FLASH_ATTN: within the derived bound of REFERENCE in every case of the tables, each batch by the kernel that its
// header names, and with batch_invariant no bit of a row changed by its neighbours.

#include "gpu/backends/flash_attn.h"

#include <doctest/doctest.h>

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "gpu/backends/rung_choice.h"
#include "reference/contract/error.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/flash/flash_cases.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

const FlashAttnOptions kInvariant = {};
const FlashAttnOptions kByTheBatch = {.batch_invariant = false};
const FlashAttnOptions kUnsplit = {.max_num_splits = 1, .batch_invariant = false};

std::unique_ptr<AttentionBackend> flash_attn(const std::shared_ptr<Device>& device) {
  return make_flash_attn_backend(device, kByTheBatch);
}

void check_table_of_cases(const std::shared_ptr<Device>& device) {
  check_cases(flash_cases(*device, 0), *flash_attn(device)).print("FLASH_ATTN", *device);
  check_cases(flash_cases(*device, 1), *make_flash_attn_backend(device, kInvariant))
      .print("FLASH_ATTN, batch-invariant,", *device);
}

void check_numbers(const std::shared_ptr<Device>& device) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    check_extraordinary_numbers(*flash_attn(device), dtype);
  }
}

// Every kind of batch has the bits of the kernel that the header names for it.
void check_choice(const std::shared_ptr<Device>& device) {
  const KernelSet kernels = kernels_of(*device);
  const auto by = [&](const TableRung<PagedAttentionParams>& rung, const AttentionStep& step) {
    return attend(step, *make_backend_of_rung(device, rung));
  };
  const auto got = [&](const AttentionStep& step) { return attend(step, *flash_attn(device)); };
  check_same_bits(got(decode_step()), by(kernels.paged_decode[6], decode_step()));
  check_same_bits(got(float_decode_step()), by(kernels.paged_decode[5], float_decode_step()));
  check_same_bits(got(prefill_step()), by(kernels.paged_prefill[2], prefill_step()));
  check_same_bits(got(mixed_step()), by(kernels.paged_prefill[2], mixed_step()));
  check_same_bits(attend(decode_step(), *make_flash_attn_backend(device, kInvariant)),
                  by(kernels.paged_prefill[2], decode_step()));
  check_same_bits(attend(decode_step(), *make_flash_attn_backend(device, kUnsplit)),
                  by(kernels.paged_prefill[2], decode_step()));
}

void check_invariance(const std::shared_ptr<Device>& device) {
  const auto backend = make_flash_attn_backend(device, kInvariant);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) check_neighbours(*backend, dtype);
  // A request that decodes: alone, then next to two that prefill.
  RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.head_size = options.head_size_v = 32;
  options.requests = {{1, 65}};
  const AttentionStep one = random_step(options, 91);
  options.requests = {{7, 40}, {1, 65}, {15, 15}};
  AttentionStep step = random_step(options, 92);
  replace_request(step, 1, one);
  check_rows(attend(step, *backend), 7, attend(one, *backend), 1);
}

}  // namespace

TEST_SUITE("FLASH_ATTN") {
  TEST_CASE(
      "FLASH_ATTN is within the bound of REFERENCE in every case of the tables (simulators)") {
    for (const auto& device : simulators()) check_table_of_cases(device);
  }
  TEST_CASE("FLASH_ATTN is within the bound of REFERENCE in every case of the tables (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("FLASH_ATTN falls into none of the traps R1 to R8 and R10 and K4 to K18 (simulator)") {
    check_traps(*flash_attn(simulator_device()));
  }
  TEST_CASE("FLASH_ATTN falls into none of the traps R1 to R8 and R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(*flash_attn(device));
  }

  TEST_CASE("FLASH_ATTN is within the bound in the sixteen golden steps (simulator)") {
    check_golden_steps(*flash_attn(simulator_device()));
  }
  TEST_CASE("FLASH_ATTN is within the bound in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(*flash_attn(device));
  }

  TEST_CASE("infinities and NaN reach the results of FLASH_ATTN as in the reference (simulator)") {
    check_numbers(simulator_device());
  }
  TEST_CASE("infinities and NaN reach the results of FLASH_ATTN as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_numbers(device);
  }

  TEST_CASE("FLASH_ATTN has the bits of the kernel that it names for a batch (simulator)") {
    check_choice(simulator_device());
  }
  TEST_CASE("FLASH_ATTN has the bits of the kernel that it names for a batch (GPU)") {
    if (const auto device = gpu_or_skip()) check_choice(device);
  }

  TEST_CASE("K16 and K17: a batch-invariant row has the same bits in every batch (simulator)") {
    check_invariance(simulator_device());
  }
  TEST_CASE("K16 and K17: a batch-invariant row has the same bits in every batch (GPU)") {
    if (const auto device = gpu_or_skip()) check_invariance(device);
  }

  TEST_CASE("both simulators have the same bits of FLASH_ATTN in every order of threads") {
    check_thread_orders(flash_attn, flash_steps());
  }

  TEST_CASE("the metadata of a batch has its longest query and its longest sequence") {
    CommonAttentionMetadata common;
    common.query_start_loc = {0, 1, 4, 4};
    common.seq_lens = {9, 3, 20};
    const FlashAttnMetadata metadata = build_flash_attn_metadata(common, kByTheBatch);
    CHECK(metadata.max_query_len == 3);
    CHECK(metadata.max_seq_len == 20);
    CHECK(metadata.max_num_splits == 0);
    CHECK(build_flash_attn_metadata(common, kUnsplit).max_num_splits == 1);
    CHECK(build_flash_attn_metadata(common, kInvariant).max_num_splits == 1);
    CHECK(build_flash_attn_metadata({}, {}).max_query_len == 0);
  }

  TEST_CASE("a backend without a kernel for a step says why each of them does not take it") {
    const KernelSet kernels = kernels_of(*simulator_device());
    PagedAttentionParams sizes;
    sizes.query_dtype = sizes.cache_dtype = DType::kFloat16;
    sizes.head_size = sizes.head_size_v = 264;
    CHECK_THROWS_WITH_AS(
        first_that_takes("X", {kernels.paged_prefill[2], kernels.paged_prefill[0]}, sizes),
        "X has no kernel for this step. paged_prefill/3_pipelined: head_size is 264, but it must "
        "be "
        "from 16 to 256. paged_prefill/1_tiled: head_size is 264, but it must be from 1 to 256.",
        Error);
    sizes.head_size = sizes.head_size_v = 40;
    CHECK(first_that_takes("X", varlen_rungs(kernels), sizes).name ==
          std::string("paged_prefill/1_tiled"));
    CHECK(first_that_takes("X", split_kv_rungs(kernels), sizes).name ==
          std::string("paged_decode/6_pipelined"));
    sizes.head_size_v = 41;
    CHECK(first_that_takes("X", split_kv_rungs(kernels), sizes).name ==
          std::string("paged_decode/5_grouped"));
  }

  TEST_CASE("FLASH_ATTN refuses numbers of splits and heads that it has no kernel for") {
    CHECK_THROWS_WITH_AS(make_flash_attn_backend(simulator_device(), {.max_num_splits = 32}),
                         "max_num_splits is 32, but FLASH_ATTN takes 0 (it splits at every 512 "
                         "keys) or 1 (it does not split).",
                         Error);
    RandomStepOptions options;
    options.head_size = 264;
    options.requests = {{1, 3}};
    CHECK_THROWS_WITH_AS(attend(random_step(options, 1), *flash_attn(simulator_device())),
                         "FLASH_ATTN: head_size is 264, but it must be from 1 to 256.", Error);
  }
}
