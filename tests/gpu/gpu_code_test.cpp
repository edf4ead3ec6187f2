// B2: whether code that was built for some generations runs on a GPU.

#include "gpu/runtime/gpu_code.h"

#include <doctest/doctest.h>

using namespace pagelab;

namespace {

bool runs(const std::string& architectures, int major, int minor) {
  return why_code_does_not_run(architectures, "a GPU", {major, minor}).empty();
}

}  // namespace

TEST_SUITE("gpu code") {
  TEST_CASE("B2: PTX of an older generation runs on every newer one") {
    CHECK(runs("80-virtual", 8, 0));
    CHECK(runs("80-virtual", 9, 0));
    CHECK(runs("80-virtual", 12, 1));
    CHECK_FALSE(runs("80-virtual", 7, 5));
  }

  TEST_CASE("B2: machine code runs within its generation and not on an older member") {
    CHECK(runs("80-real", 8, 6));
    CHECK_FALSE(runs("80-real", 9, 0));
    CHECK_FALSE(runs("86-real", 8, 0));
    CHECK(runs("80", 9, 0));  // both machine code and PTX
  }

  TEST_CASE("B2: code for the features of one chip runs there alone") {
    CHECK(runs("90a-real", 9, 0));
    CHECK_FALSE(runs("90a-real", 10, 0));
    CHECK_FALSE(runs("90a-virtual", 10, 0));
    CHECK(runs("100f-real", 10, 3));
    CHECK_FALSE(runs("100f-real", 12, 0));
  }

  TEST_CASE("B2: of several architectures one has to fit") {
    CHECK(runs("80-virtual;90a-real", 12, 0));
    CHECK(runs("80-virtual,90a-real", 9, 0));
    CHECK_FALSE(runs("100-real;90a-real", 8, 0));
  }

  TEST_CASE("B2: the refusal names what was built and what the GPU is and the flag to set") {
    CHECK(why_code_does_not_run("80-real", "NVIDIA H200", {9, 0}) ==
          "pagelab's GPU code was built for 80-real, which does not run on NVIDIA H200 (compute "
          "capability 9.0); configure with -DPAGELAB_CUDA_ARCHITECTURES=90-virtual");
  }
}
