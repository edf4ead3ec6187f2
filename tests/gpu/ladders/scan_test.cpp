// Both rungs of scan: integers against std::inclusive_scan; floats against the order that their
// headers state, written down here in another way, and against the true sums within its bound.

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using Floats = std::vector<float>;

// Rung 1 at one place: the sum of the last `window` values up to it, as far as there are any, is that
// of the earlier half of the window plus that of the later half.
float window_sum(const Floats& values, std::size_t place, std::size_t window) {
  if (window == 1) return values[place];
  const std::size_t half = window / 2;
  const float later = window_sum(values, place, half);
  if (place < half) return later;
  return window_sum(values, place - half, half) + later;
}

Floats hillis_steele_sums(const Floats& values) {
  std::size_t window = 1;
  while (window < values.size()) window *= 2;
  Floats sums;
  for (std::size_t place = 0; place < values.size(); ++place) {
    sums.push_back(window_sum(values, place, window));
  }
  return sums;
}

Floats part_of(const Floats& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return Floats(begin, begin + static_cast<std::ptrdiff_t>(count));
}

// Rung 2: each warp like rung 1, then the totals of the warps, then the total before each warp.
Floats warp_shuffle_sums(const Floats& values) {
  Floats totals(32, 0.0f);
  Floats sums;
  for (std::size_t first = 0; first < values.size(); first += 32) {
    const Floats of_warp = hillis_steele_sums(part_of(values, first, 32));
    sums.insert(sums.end(), of_warp.begin(), of_warp.end());
    totals[first / 32] = of_warp.back();
  }
  totals = hillis_steele_sums(totals);
  for (std::size_t index = 32; index < sums.size(); ++index) {
    sums[index] = totals[index / 32 - 1] + sums[index];
  }
  return sums;
}

// Thread block after thread block, their totals, and the total before each.
Floats sums_in_stated_order(int rung, Floats values, std::size_t threads_per_cta) {
  const std::size_t count = values.size();
  const std::size_t num_ctas = (count + threads_per_cta - 1) / threads_per_cta;
  values.resize(num_ctas * threads_per_cta, 0.0f);
  Floats sums;
  Floats totals;
  for (std::size_t cta = 0; cta < num_ctas; ++cta) {
    const Floats of_cta = part_of(values, cta * threads_per_cta, threads_per_cta);
    const Floats cta_sums = rung == 1 ? hillis_steele_sums(of_cta) : warp_shuffle_sums(of_cta);
    sums.insert(sums.end(), cta_sums.begin(), cta_sums.end());
    totals.push_back(cta_sums.back());
  }
  if (num_ctas > 1) totals = sums_in_stated_order(rung, totals, threads_per_cta);
  for (std::size_t index = threads_per_cta; index < count; ++index) {
    sums[index] = totals[index / threads_per_cta - 1] + sums[index];
  }
  sums.resize(count);
  return sums;
}

// Each level of thread blocks adds at most 10 (rung 1) or 5 + 5 + 1 (rung 2) additions to a value's
// way, and one for the total before it: γ_h · Σ|x| with h = 12 a level (Higham 2002, section 4.2).
void check_within_bound(const Floats& got, const Floats& values, std::size_t threads_per_cta) {
  int num_levels = 0;
  for (std::size_t rest = values.size(); rest > 0; ++num_levels) {
    if (rest == 1) {
      ++num_levels;
      break;
    }
    rest = (rest + threads_per_cta - 1) / threads_per_cta;
  }
  const double h_u = 12.0 * num_levels * 0x1p-24;
  const double gamma = h_u / (1.0 - h_u);
  double exact = 0.0;
  double sum_of_magnitudes = 0.0;
  for (std::size_t index = 0; index < values.size(); ++index) {
    exact += static_cast<double>(values[index]);
    sum_of_magnitudes += std::fabs(static_cast<double>(values[index]));
    const double error = std::fabs(static_cast<double>(got[index]) - exact);
    if (!(error <= gamma * sum_of_magnitudes)) FAIL_CHECK("sum " << index << " is " << got[index]);
  }
}

Floats random_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Floats values(count);
  for (float& value : values) {
    const double exponent = static_cast<double>(random.whole(-12, 12));
    value = static_cast<float>(random.real(-1.0, 1.0) * std::exp2(exponent));
  }
  return values;
}

void check_floats(const std::shared_ptr<Device>& device,
                  std::size_t count,
                  unsigned int threads_per_cta) {
  const Floats values = random_floats(count, 1000 * threads_per_cta + count);
  const auto rungs = kernels_of(*device).scan_float;
  for (int rung = 1; rung <= 2; ++rung) {
    CAPTURE(rung);
    const Floats got =
        scan_on(device, rungs[static_cast<std::size_t>(rung - 1)], values, threads_per_cta);
    const Floats expected = sums_in_stated_order(rung, values, threads_per_cta);
    check_identical("sums", Tensor::from_values<float>({static_cast<std::int64_t>(count)}, got),
                    Tensor::from_values<float>({static_cast<std::int64_t>(count)}, expected));
    check_within_bound(got, values, threads_per_cta);
  }
}

void check_integers(const std::shared_ptr<Device>& device,
                    std::size_t count,
                    unsigned int threads_per_cta) {
  Random random(count);
  std::vector<std::int32_t> values(count);
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random.whole(-1000, 1000));
  std::vector<std::int32_t> expected(count);
  std::inclusive_scan(values.begin(), values.end(), expected.begin());
  for (const auto& rung : kernels_of(*device).scan_int32) {
    CAPTURE(rung.name);
    CHECK(scan_on(device, rung, values, threads_per_cta) == expected);
  }
}

void check_all_configurations(const std::shared_ptr<Device>& device) {
  for (unsigned int threads_per_cta : kThreadsPerCta) {
    CAPTURE(threads_per_cta);
    for (std::size_t count : {0u, 1u, 5u, 31u, 32u, 33u, 2 * threads_per_cta + 17}) {
      CAPTURE(count);
      check_integers(device, count, threads_per_cta);
      check_floats(device, count, threads_per_cta);
    }
  }
}

// So many thread blocks that their totals need several, and those a third level: 32³ + 5 values.
void check_three_levels(const std::shared_ptr<Device>& device) {
  check_integers(device, 32 * 32 * 32 + 5, 32);
  check_floats(device, 32 * 32 * 32 + 5, 32);
}

// S6, with the values of the trap.
void check_eight_values(const std::shared_ptr<Device>& device) {
  const std::vector<std::int32_t> expected = {1, 3, 6, 10, 15, 21, 28, 36};
  for (const auto& rung : kernels_of(*device).scan_int32) {
    CHECK(scan_on(device, rung, {1, 2, 3, 4, 5, 6, 7, 8}, 32) == expected);
  }
}

}  // namespace

TEST_SUITE("scan") {
  TEST_CASE("S7: sums have the bits of the stated order in every configuration (simulators)") {
    on_simulators_in_all_orders(check_all_configurations);
  }
  TEST_CASE("S7: sums have the bits of the stated order in every configuration (GPU)") {
    if (const auto device = gpu_or_skip()) check_all_configurations(device);
  }

  TEST_CASE("totals of thread blocks are scanned by as many launches as they need (simulators)") {
    for (const auto& device : simulators()) check_three_levels(device);
  }
  TEST_CASE("totals of thread blocks are scanned by as many launches as they need (GPU)") {
    if (const auto device = gpu_or_skip()) check_three_levels(device);
  }

  TEST_CASE("S6: one to eight give 1 3 6 10 15 21 28 36 in every order of threads (simulators)") {
    on_simulators_in_all_orders(check_eight_values);
  }
  TEST_CASE("S6: one to eight give 1 3 6 10 15 21 28 36 in every order of threads (GPU)") {
    if (const auto device = gpu_or_skip()) check_eight_values(device);
  }

  TEST_CASE("scan refuses what cannot be launched in one sentence") {
    const auto device = simulator_device();
    const auto rung = kernels_of(*device).scan_int32[1];
    CHECK_THROWS_WITH_AS(scan_on(device, rung, {1}, 48),
                         "scan/2_warp_shuffle: threads_per_cta is 48, but it must be a multiple of "
                         "32 from 32 to 1024.",
                         Error);
    ScanParams<std::int32_t> params;
    params.count = 3;
    CHECK_THROWS_WITH_AS(rung.launch(params),
                         "scan/2_warp_shuffle: values is a null pointer, but the kernel uses 3 "
                         "elements of it. Was the array allocated on the device?",
                         Error);
  }
}
