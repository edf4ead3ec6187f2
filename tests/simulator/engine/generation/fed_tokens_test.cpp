// The tiny Llama through each backend in 16 bits; through each kernel: every_kernel_text_test.cpp.

#include <doctest/doctest.h>

#include "gpu/backends/catalog.h"
#include "tests/gpu/devices.h"
#include "tests/simulator/engine/generation/fed_tokens.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::int64_t kFedTokens = 120;  // of each text, half of it

void check_16_bits(const std::string& name, const std::string& target) {
  const Feed feed(kFedTokens);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    check_fed_tokens(name, *make_backend(name, target), dtype, feed);
  }
}

void check_16_bits_on_gpu(const std::string& name) {
  if (gpu_or_skip()) check_16_bits(name, "cuda");
}

}  // namespace

TEST_SUITE("fed tokens") {
  TEST_CASE(
      "FLASH_ATTN in 16 bits chooses the golden tokens where the choice is clear (simulator)") {
    check_16_bits("FLASH_ATTN", "simulator");
  }
  TEST_CASE("FLASH_ATTN in 16 bits chooses the golden tokens where the choice is clear (GPU)") {
    check_16_bits_on_gpu("FLASH_ATTN");
  }
  TEST_CASE(
      "FLASHINFER in 16 bits chooses the golden tokens where the choice is clear (simulator)") {
    check_16_bits("FLASHINFER", "simulator");
  }
  TEST_CASE("FLASHINFER in 16 bits chooses the golden tokens where the choice is clear (GPU)") {
    check_16_bits_on_gpu("FLASHINFER");
  }
  TEST_CASE(
      "TRITON_ATTN in 16 bits chooses the golden tokens where the choice is clear (simulator)") {
    check_16_bits("TRITON_ATTN", "simulator");
  }
  TEST_CASE("TRITON_ATTN in 16 bits chooses the golden tokens where the choice is clear (GPU)") {
    check_16_bits_on_gpu("TRITON_ATTN");
  }
  TEST_CASE("FLEX_ATTENTION in bfloat16 chooses the golden tokens where it is clear (simulator)") {
    check_fed_tokens("FLEX_ATTENTION", *make_backend("FLEX_ATTENTION", "simulator"),
                     DType::kBFloat16, Feed(kFedTokens));
  }
  TEST_CASE("FLEX_ATTENTION in 16 bits chooses the golden tokens where it is clear (GPU)") {
    check_16_bits_on_gpu("FLEX_ATTENTION");
  }
  TEST_CASE("CPU_ATTN in 16 bits chooses the golden tokens where the choice is clear") {
    check_16_bits("CPU_ATTN", "cpu");
  }
}
