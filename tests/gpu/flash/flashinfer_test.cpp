// FLASHINFER: within the derived bound of REFERENCE in every case of the tables; each request has the bits of its
// wrapper's kernel, whatever else is in the batch, and the page table leads where the block table does.

#include "gpu/backends/flashinfer.h"

#include <doctest/doctest.h>

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "reference/contract/error.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/flash/flash_cases.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::unique_ptr<AttentionBackend> flashinfer(const std::shared_ptr<Device>& device) {
  return make_flashinfer_backend(device);
}

void check_table_of_cases(const std::shared_ptr<Device>& device) {
  check_cases(flash_cases(*device, 2), *flashinfer(device)).print("FLASHINFER", *device);
}

void check_numbers(const std::shared_ptr<Device>& device) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    check_extraordinary_numbers(*flashinfer(device), dtype);
  }
}

// The kernels read a page table here, and the step's block table where they are launched alone.
void check_wrappers(const std::shared_ptr<Device>& device) {
  const KernelSet kernels = kernels_of(*device);
  const auto by = [&](const TableRung<PagedAttentionParams>& rung, const AttentionStep& step) {
    return attend(step, *make_backend_of_rung(device, rung));
  };
  const auto got = [&](const AttentionStep& step) { return attend(step, *flashinfer(device)); };
  check_same_bits(got(decode_step()), by(kernels.paged_decode[6], decode_step()));
  check_same_bits(got(float_decode_step()), by(kernels.paged_decode[5], float_decode_step()));
  check_same_bits(got(prefill_step()), by(kernels.paged_prefill[2], prefill_step()));
}

// A request that decodes, and one that prefills: alone, then in a batch in which both kinds are mixed.
void check_invariance(const std::shared_ptr<Device>& device) {
  const auto backend = flashinfer(device);
  RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.head_size = options.head_size_v = 32;
  options.requests = {{1, 65}};
  const AttentionStep one = random_step(options, 91);
  options.requests = {{7, 40}, {1, 65}, {15, 15}, {1, 2}};
  AttentionStep step = random_step(options, 92);
  replace_request(step, 1, one);
  check_rows(attend(step, *backend), 7, attend(one, *backend), 1);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) check_neighbours(*backend, dtype);
}

}  // namespace

TEST_SUITE("FLASHINFER") {
  TEST_CASE(
      "FLASHINFER is within the bound of REFERENCE in every case of the tables (simulators)") {
    for (const auto& device : simulators()) check_table_of_cases(device);
  }
  TEST_CASE("FLASHINFER is within the bound of REFERENCE in every case of the tables (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("FLASHINFER falls into none of the traps R1 to R8 and R10 and K4 to K18 (simulator)") {
    check_traps(*flashinfer(simulator_device()));
  }
  TEST_CASE("FLASHINFER falls into none of the traps R1 to R8 and R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(*flashinfer(device));
  }

  TEST_CASE("FLASHINFER is within the bound in the sixteen golden steps (simulator)") {
    check_golden_steps(*flashinfer(simulator_device()));
  }
  TEST_CASE("FLASHINFER is within the bound in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(*flashinfer(device));
  }

  TEST_CASE("infinities and NaN reach the results of FLASHINFER as in the reference (simulator)") {
    check_numbers(simulator_device());
  }
  TEST_CASE("infinities and NaN reach the results of FLASHINFER as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_numbers(device);
  }

  TEST_CASE("a wrapper has by its page table the bits that the block table gives (simulator)") {
    check_wrappers(simulator_device());
  }
  TEST_CASE("a wrapper has by its page table the bits that the block table gives (GPU)") {
    if (const auto device = gpu_or_skip()) check_wrappers(device);
  }

  TEST_CASE("K16 and K17: neighbours and blocks change no bit of FLASHINFER (simulator)") {
    check_invariance(simulator_device());
  }
  TEST_CASE("K16 and K17: neighbours and blocks change no bit of FLASHINFER (GPU)") {
    if (const auto device = gpu_or_skip()) check_invariance(device);
  }

  TEST_CASE("both simulators have the same bits of FLASHINFER in every order of threads") {
    check_thread_orders(flashinfer, flash_steps());
  }

  TEST_CASE("FLASHINFER refuses heads that its prefill wrapper has no kernel for") {
    RandomStepOptions options;
    options.head_size_v = 300;
    options.requests = {{1, 3}};
    CHECK_THROWS_WITH_AS(attend(random_step(options, 1), *flashinfer(simulator_device())),
                         "FLASHINFER: head_size_v is 300, but it must be from 1 to 256.", Error);
  }
}
