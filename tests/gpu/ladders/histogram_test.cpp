// Both rungs of histogram against counting one by one.

#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_counts(const std::shared_ptr<Device>& device,
                  const std::vector<std::uint8_t>& values,
                  unsigned int threads_per_cta) {
  // Counts are added to what is there.
  std::vector<unsigned int> before(kHistogramBins);
  for (unsigned int bin = 0; bin < kHistogramBins; ++bin) before[bin] = 1000 * bin;
  std::vector<unsigned int> expected = before;
  for (std::uint8_t value : values) ++expected[value];
  for (const auto& rung : kernels_of(*device).histogram) {
    CAPTURE(rung.name);
    CAPTURE(threads_per_cta);
    CAPTURE(values.size());
    CHECK(histogram_on(device, rung, values, threads_per_cta, before) == expected);
  }
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> values(count);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random.whole(0, 255));
  return values;
}

void check_configurations(const std::shared_ptr<Device>& device) {
  for (unsigned int threads_per_cta : kThreadsPerCta) {
    for (std::size_t count : {0u, 1u, 5u, 31u, 32u, 33u, 3 * threads_per_cta + 17}) {
      check_counts(device, random_bytes(count, count), threads_per_cta);
    }
  }
}

// All values alike, so that every thread wants the same bin; and more of them than 1,024 thread
// blocks have threads.
void check_crowds(const std::shared_ptr<Device>& device) {
  check_counts(device, std::vector<std::uint8_t>(5000, 255), 128);
  check_counts(device, random_bytes(2 * 1024 * 32 + 77, 9), 32);
}

}  // namespace

TEST_SUITE("histogram") {
  TEST_CASE("S7: no value is lost or counted twice in any configuration (simulators)") {
    on_simulators_in_all_orders(check_configurations);
  }
  TEST_CASE("S7: no value is lost or counted twice in any configuration (GPU)") {
    if (const auto device = gpu_or_skip()) check_configurations(device);
  }

  TEST_CASE("threads that count the same value at once all count (simulators)") {
    for (const auto& device : simulators()) check_crowds(device);
  }
  TEST_CASE("threads that count the same value at once all count (GPU)") {
    if (const auto device = gpu_or_skip()) check_crowds(device);
  }

  TEST_CASE("histogram refuses what cannot be launched in one sentence") {
    const auto device = simulator_device();
    const auto rung = kernels_of(*device).histogram[0];
    HistogramParams params;
    params.threads_per_cta = 1025;
    CHECK_THROWS_AS(rung.launch(params), Error);
    params.threads_per_cta = 64;
    params.count = 4294967296;
    CHECK_THROWS_WITH_AS(
        rung.launch(params),
        "histogram/1_global_atomics: count is 4294967296, but it must be from 0 to 4294967295.",
        Error);
  }
}
