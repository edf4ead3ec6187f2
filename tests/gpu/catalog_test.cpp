#include "gpu/backends/catalog.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/runtime/device.h"
#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

// Numbers of the trap, which both fp8 formats hold exactly, under different codes.
constexpr double kStoredNumbers[] = {1.0, 1.5, 0.125, 224.0};

// A request of one token: its output is its own value, as the cache holds it.
AttentionStep one_token_step(DType cache_format) {
  test::RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.kv_cache_dtype = cache_format;
  options.num_query_heads = options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 16;
  options.requests = {{1, 1}};
  AttentionStep step = test::random_step(options, 19);
  step.cache.k_scale = step.cache.v_scale = {1.0f};
  for (std::int64_t d = 0; d < 16; ++d) {
    step.value.data<BFloat16>()[d] = store_as<BFloat16>(kStoredNumbers[d % 4]);
  }
  return step;
}

}  // namespace

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

  TEST_CASE("K19: what an fp8 cache is given every backend stores and reads back in its format") {
    const std::vector<std::string> present = available_targets();
    for (const DType format : {DType::kFp8E5M2, DType::kFp8E4M3}) {
      const AttentionStep step = one_token_step(format);
      for (const BackendChoice& choice : all_backends()) {
        for (const std::string& target : choice.targets) {
          if (std::find(present.begin(), present.end(), target) == present.end()) continue;
          CAPTURE(choice.name);
          CAPTURE(target);
          const AttentionResult got = attend(step, *make_backend(choice.name, target));
          CHECK(got.cache.spec().dtype == format);
          const Tensor stored = got.cache.values();
          for (std::int64_t d = 0; d < 16; ++d) {
            CHECK(stored.value(step.metadata.slot_mapping[0] * 16 + d) == kStoredNumbers[d % 4]);
            CHECK(got.output.value(d) == kStoredNumbers[d % 4]);
          }
        }
      }
    }
    KvCache e5m2 = one_token_step(DType::kFp8E5M2).cache;
    const KvCache e4m3 = one_token_step(DType::kFp8E4M3).cache;
    CHECK_THROWS_AS(e5m2.assign(e4m3.keys(), e4m3.values()), Error);
  }

  TEST_CASE("the target cuda without a GPU is refused with the reason") {
    std::string why_not;
    if (cuda_is_available(&why_not)) return;
    CHECK_FALSE(why_not.empty());
    const std::string sentence = "target cuda is not available: " + why_not + ".";
    CHECK_THROWS_WITH_AS(make_backend("NAIVE", "cuda"), sentence.c_str(), Error);
  }
}
