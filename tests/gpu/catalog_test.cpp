#include "gpu/backends/catalog.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/runtime/device.h"
#include "reference/contract/error.h"

using namespace pagelab;

TEST_SUITE("catalog") {
  TEST_CASE("every backend can be made by its own name on each target that is present") {
    const std::vector<std::string> present = available_targets();
    for (const BackendChoice& choice : all_backends()) {
      CHECK(default_target_of(choice.name) == choice.targets.front());
      for (const std::string& target : choice.targets) {
        if (std::find(present.begin(), present.end(), target) == present.end()) continue;
        const auto backend = make_backend(choice.name, target);
        CHECK(backend->name() == choice.name);
        CHECK(backend->target() == target);
      }
    }
  }

  TEST_CASE("cpu and simulator are always present and cuda exactly where there is a GPU") {
    const std::vector<std::string> targets = available_targets();
    CHECK(std::count(targets.begin(), targets.end(), "cpu") == 1);
    CHECK(std::count(targets.begin(), targets.end(), "simulator") == 1);
    CHECK(std::count(targets.begin(), targets.end(), "cuda") == (cuda_is_available() ? 1 : 0));
  }

  TEST_CASE("G8: a misspelt name is answered with all names and the nearest one") {
    CHECK_THROWS_WITH_AS(
        make_backend("NAVIE", "simulator"),
        "there is no backend NAVIE (did you mean NAIVE?); the backends are REFERENCE, "
        "REFERENCE_FLOAT, NAIVE, FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLEX_ATTENTION, CPU_ATTN.",
        Error);
    CHECK_THROWS_WITH_AS(
        make_backend("naive", "simulator"),
        "there is no backend naive (did you mean NAIVE?); the backends are REFERENCE, "
        "REFERENCE_FLOAT, NAIVE, FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLEX_ATTENTION, CPU_ATTN.",
        Error);
    CHECK_THROWS_WITH_AS(
        make_backend("SOMETHING_ELSE", "cpu"),
        "there is no backend SOMETHING_ELSE; the backends are REFERENCE, "
        "REFERENCE_FLOAT, NAIVE, FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLEX_ATTENTION, "
        "CPU_ATTN.",
        Error);
    CHECK_THROWS_AS(default_target_of("NOPE"), Error);
  }

  TEST_CASE("an unknown target and one that a backend does not run on are told apart") {
    CHECK_THROWS_WITH_AS(
        make_backend("NAIVE", "gpu"),
        "there is no target gpu (did you mean cuda?); the targets are cpu, simulator, cuda.",
        Error);
    CHECK_THROWS_WITH_AS(make_backend("NAIVE", "cpu"),
                         "backend NAIVE does not run on target cpu; it runs on simulator and cuda.",
                         Error);
    CHECK_THROWS_WITH_AS(make_backend("REFERENCE", "cuda"),
                         "backend REFERENCE does not run on target cuda; it runs on cpu.", Error);
  }

  TEST_CASE("the target cuda without a GPU is refused with the reason") {
    std::string why_not;
    if (cuda_is_available(&why_not)) return;
    CHECK_FALSE(why_not.empty());
    const std::string sentence = "target cuda is not available: " + why_not + ".";
    CHECK_THROWS_WITH_AS(make_backend("NAIVE", "cuda"), sentence.c_str(), Error);
  }
}
