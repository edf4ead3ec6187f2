// The main job through backends and kernels that meet at barriers, which takes time in the simulator.

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gpu/backends/catalog.h"
#include "tests/gpu/attending_kernels.h"
#include "tests/gpu/devices.h"
#include "tests/simulator/engine/generation/fed_tokens.h"
#include "tests/simulator/engine/generation/golden_texts.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_whole_texts(const std::string& name, std::int64_t block_size) {
  check_golden_texts(*make_backend(name, "simulator"), block_size);
}

void check_every_kernel(const std::shared_ptr<Device>& device, std::int64_t num_tokens) {
  const std::set<std::string> of_16_bits = {
      "paged_decode/7_tensor_cores", "paged_prefill/2_tensor_cores", "paged_prefill/3_pipelined"};
  for (const AttendingKernel& kernel : attending_kernels(device)) {
    if (of_16_bits.contains(kernel.name)) continue;
    CAPTURE(kernel.name);
    check_golden_texts(*kernel.backend, 16, num_tokens);
  }
}

void check_every_kernel_in_16_bits(const std::shared_ptr<Device>& device) {
  const Feed feed(12);
  for (const AttendingKernel& kernel : attending_kernels(device)) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
      check_fed_tokens(kernel.name, *kernel.backend, dtype, feed);
    }
  }
}

}  // namespace

TEST_SUITE("whole golden texts") {
  TEST_CASE("FLASH_ATTN writes them in the simulator") { check_whole_texts("FLASH_ATTN", 16); }
  TEST_CASE("FLASHINFER writes them in the simulator") { check_whole_texts("FLASHINFER", 16); }
  TEST_CASE("TRITON_ATTN writes them in the simulator") { check_whole_texts("TRITON_ATTN", 3); }
  TEST_CASE("FLEX_ATTENTION writes them in the simulator") {
    check_whole_texts("FLEX_ATTENTION", 16);
  }

  TEST_CASE("every kernel that takes float32 begins them (simulator)") {
    check_every_kernel(simulator_device(), 20);
  }
  TEST_CASE("every kernel that takes float32 writes them (GPU)") {
    if (const auto device = gpu_or_skip()) check_every_kernel(device, kGoldenTokens);
  }

  TEST_CASE("every kernel in 16 bits chooses the golden tokens where it is clear (simulator)") {
    check_every_kernel_in_16_bits(simulator_device());
  }
  TEST_CASE("every kernel in 16 bits chooses the golden tokens where it is clear (GPU)") {
    if (const auto device = gpu_or_skip()) check_every_kernel_in_16_bits(device);
  }
}
