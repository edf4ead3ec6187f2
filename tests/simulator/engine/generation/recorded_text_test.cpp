// Golden tokens from replays: the model's steps are recorded at the start, and what runs afterwards are those recordings.
// A selection in which every backend and every mode occurs; all pairs, and all features, in every_replay_test.cpp.

#include <doctest/doctest.h>

#include "gpu/backends/catalog.h"
#include "tests/simulator/engine/generation/recorded_texts.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_in_simulator(const std::string& name, CUDAGraphMode mode, std::int64_t num_tokens) {
  check_recorded_texts(*make_backend(name, "simulator"), mode, num_tokens);
}

}  // namespace

TEST_SUITE("recorded texts") {
  TEST_CASE("NAIVE begins them in the simulator in full graphs of every batch") {
    check_in_simulator("NAIVE", CUDAGraphMode::kFull, 20);
  }
  TEST_CASE("NAIVE begins them in the simulator piece by piece") {
    check_in_simulator("NAIVE", CUDAGraphMode::kPiecewise, 20);
  }
  TEST_CASE("FLASH_ATTN begins them in the simulator in full graphs of every batch") {
    check_in_simulator("FLASH_ATTN", CUDAGraphMode::kFull, 12);
  }
  TEST_CASE("TRITON_ATTN begins them in the simulator in full graphs of decodes only") {
    check_in_simulator("TRITON_ATTN", CUDAGraphMode::kFullDecodeOnly, 12);
  }
  TEST_CASE("FLASHINFER begins them in the simulator in full graphs of decodes and in pieces") {
    check_in_simulator("FLASHINFER", CUDAGraphMode::kFullAndPiecewise, 12);
  }
  TEST_CASE("FLEX_ATTENTION begins them in the simulator in full graphs of every batch") {
    check_in_simulator("FLEX_ATTENTION", CUDAGraphMode::kFull, 12);
  }
}
