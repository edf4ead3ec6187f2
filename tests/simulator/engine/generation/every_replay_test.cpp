// Golden tokens from replays, on every backend that runs kernels, in every mode and with all of the engine's features.

#include <doctest/doctest.h>

#include "gpu/backends/catalog.h"
#include "tests/gpu/devices.h"
#include "tests/simulator/engine/generation/recorded_texts.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

const std::vector<std::string>& backends_with_kernels() {
  static const std::vector<std::string> kNames = {"NAIVE", "FLASH_ATTN", "FLASHINFER",
                                                  "TRITON_ATTN", "FLEX_ATTENTION"};
  return kNames;
}

void check_every_mode(const std::string& target, std::int64_t num_tokens) {
  for (const std::string& name : backends_with_kernels()) {
    for (const CUDAGraphMode mode : recordable_modes(name)) {
      check_recorded_texts(*make_backend(name, target), mode, num_tokens);
    }
  }
}

// Combinations from `first` on; the first 16 are without graphs. A backend without cascade takes those without.
void check_combinations(const std::string& name,
                        const std::string& target,
                        GoldenWork work,
                        int first = 0) {
  const auto backend = make_backend(name, target);
  for (int combination = first; combination < 32; ++combination) {
    const Features features = features_of(combination);
    if (features.cascade && !backend->has_cascade()) continue;
    check_golden_texts_with(features, *backend, 16, work);
  }
}

}  // namespace

TEST_SUITE("every replay") {
  TEST_CASE("every backend begins the golden texts in every mode of graphs (simulator)") {
    check_every_mode("simulator", 12);
  }
  TEST_CASE("every backend writes the golden texts in every mode of graphs (GPU)") {
    if (gpu_or_skip() != nullptr) check_every_mode("cuda", kGoldenTokens);
  }

  TEST_CASE("NAIVE begins them with graphs and all other features (simulator)") {
    check_combinations("NAIVE", "simulator",
                       {.num_relatives = 2, .num_tokens = 40, .num_relative_tokens = 4}, 16);
  }
  TEST_CASE("every backend writes them with every combination of features (GPU)") {
    if (gpu_or_skip() == nullptr) return;
    for (const std::string& name : backends_with_kernels()) check_combinations(name, "cuda", {});
  }
}
