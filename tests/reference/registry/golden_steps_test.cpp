// Sixteen steps whose results were computed elsewhere, in NumPy, straight from the definition.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "reference/contract/compare.h"
#include "reference/contract/step_folder.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/reference_backends.h"
#include "tests/support/environment.h"

using namespace pagelab;

namespace {

std::vector<std::filesystem::path> golden_steps() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_dir() / "steps")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// NumPy's float64 values have errors of their own, no larger than the double reference may have.
Tensor widened(const Tensor& bound, const Tensor& bound_of_numpy) {
  Tensor sum = bound;
  for (std::int64_t index = 0; index < sum.size(); ++index) {
    sum.data<double>()[index] += bound_of_numpy.data<double>()[index];
  }
  return sum;
}

void check_step(const std::filesystem::path& folder, const AttentionBackend& backend) {
  CAPTURE(folder.filename().string());
  const StepFolder golden = read_step_folder(folder);
  REQUIRE(golden.expected.output.has_value());
  REQUIRE(golden.expected.lse.has_value());
  REQUIRE(golden.expected.key_cache.has_value());
  REQUIRE(golden.expected.value_cache.has_value());
  const AttentionResult result = attend(golden.step, backend);
  const Comparison keys = compare_bits(result.cache.keys(), *golden.expected.key_cache);
  const Comparison values = compare_bits(result.cache.values(), *golden.expected.value_cache);
  CHECK_MESSAGE(keys.agrees(), to_string(keys));
  CHECK_MESSAGE(values.agrees(), to_string(values));

  AttentionStep stored = golden.step;
  stored.cache = result.cache;
  const ErrorBound bound = error_bound(stored, backend);
  const ErrorBound numpy = error_bound(stored, Precision::canonical_double());
  const Comparison output =
      compare_within(result.output, *golden.expected.output, widened(bound.output, numpy.output));
  const Comparison lse =
      compare_within(result.lse, *golden.expected.lse, widened(bound.lse, numpy.lse));
  CHECK_MESSAGE(output.agrees(), to_string(output));
  CHECK_MESSAGE(lse.agrees(), to_string(lse));
}

}  // namespace

TEST_SUITE("golden steps") {
  TEST_CASE("all sixteen steps agree with REFERENCE and their cache contents exactly") {
    const std::vector<std::filesystem::path> folders = golden_steps();
    REQUIRE(folders.size() == 16);
    const auto backend = make_reference_backend();
    for (const std::filesystem::path& folder : folders) check_step(folder, *backend);
  }

  TEST_CASE("all sixteen steps agree with REFERENCE_FLOAT and their cache contents exactly") {
    const std::vector<std::filesystem::path> folders = golden_steps();
    REQUIRE(folders.size() == 16);
    const auto backend = make_reference_float_backend();
    for (const std::filesystem::path& folder : folders) check_step(folder, *backend);
  }
}
