// Both rungs of block_reduce: the bits of the order that their headers state, written down here in
// another way; the true sum within the bound of that order; and what they refuse.

#include <doctest/doctest.h>

#include <cmath>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// What the tree leaves at a place when all distances from `distance` on are done: the sum of the
// place itself and the one `distance` further on, each of which has the larger distances behind it.
float tree_sum(const std::vector<float>& leaves, std::size_t place, std::size_t distance) {
  if (distance >= leaves.size()) return leaves[place];
  const float own = tree_sum(leaves, place, 2 * distance);
  if (place + distance >= leaves.size()) return own;
  return own + tree_sum(leaves, place + distance, 2 * distance);
}

// Rung 1: one tree over all threads.
float shared_memory_sum(const std::vector<float>& thread_sums) {
  return tree_sum(thread_sums, 0, 1);
}

// Rung 2: a tree over each warp, and one over 32 sums of warps, zeros where there is none.
float warp_shuffle_sum(const std::vector<float>& thread_sums) {
  std::vector<float> warp_sums(32, 0.0f);
  for (std::size_t first = 0; first < thread_sums.size(); first += 32) {
    const std::vector<float> lanes(thread_sums.begin() + static_cast<std::ptrdiff_t>(first),
                                   thread_sums.begin() + static_cast<std::ptrdiff_t>(first) + 32);
    warp_sums[first / 32] = tree_sum(lanes, 0, 1);
  }
  return tree_sum(warp_sums, 0, 1);
}

// The sums that one launch leaves.
std::vector<float> cta_sums(int rung,
                            const std::vector<float>& values,
                            std::size_t num_ctas,
                            std::size_t threads_per_cta) {
  std::vector<float> thread_sums(num_ctas * threads_per_cta, 0.0f);
  for (std::size_t index = 0; index < values.size(); ++index) {
    thread_sums[index % thread_sums.size()] += values[index];
  }
  std::vector<float> sums;
  for (std::size_t cta = 0; cta < num_ctas; ++cta) {
    const auto first = thread_sums.begin() + static_cast<std::ptrdiff_t>(cta * threads_per_cta);
    const std::vector<float> of_cta(first, first + static_cast<std::ptrdiff_t>(threads_per_cta));
    sums.push_back(rung == 1 ? shared_memory_sum(of_cta) : warp_shuffle_sum(of_cta));
  }
  return sums;
}

std::size_t num_ctas_of(std::size_t count, std::size_t threads_per_cta) {
  const std::size_t needed = (count + threads_per_cta - 1) / threads_per_cta;
  return std::min<std::size_t>(std::max<std::size_t>(needed, 1), 1024);
}

float sum_in_stated_order(int rung, const std::vector<float>& values, std::size_t threads_per_cta) {
  const std::size_t num_ctas = num_ctas_of(values.size(), threads_per_cta);
  const std::vector<float> sums = cta_sums(rung, values, num_ctas, threads_per_cta);
  return cta_sums(rung, sums, 1, threads_per_cta).front();
}

// Numbers of very different sizes and both signs: any other order gives other bits.
std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const double exponent = static_cast<double>(random.whole(-12, 12));
    value = static_cast<float>(random.real(-1.0, 1.0) * std::exp2(exponent));
  }
  return values;
}

// A value passes one addition for each value of its thread, log2 of the number of threads in the
// tree (at most 10 in rung 1, 5 + 5 in rung 2), and the same again in the second launch, where a
// thread has ceil(ctas / threads) values. Each rounds by at most 2^-24 of a partial sum, which is at
// most Σ|x| times the roundings so far: γ_h · Σ|x| with h additions (Higham 2002, section 4.2).
double sum_bound(const std::vector<float>& values, std::size_t threads_per_cta) {
  const std::size_t num_ctas = num_ctas_of(values.size(), threads_per_cta);
  const std::size_t num_threads = num_ctas * threads_per_cta;
  const std::size_t first = (values.size() + num_threads - 1) / num_threads + 10;
  const std::size_t second = (num_ctas + threads_per_cta - 1) / threads_per_cta + 10;
  const double h_u = static_cast<double>(first + second) * 0x1p-24;
  double sum_of_magnitudes = 0.0;
  for (float value : values) sum_of_magnitudes += std::fabs(static_cast<double>(value));
  return h_u / (1.0 - h_u) * sum_of_magnitudes;
}

void check_sum(const std::shared_ptr<Device>& device,
               const std::vector<float>& values,
               unsigned int threads_per_cta) {
  double exact = 0.0;  // off by at most n · 2^-53 · Σ|x|: nothing beside the bound
  for (float value : values) exact += static_cast<double>(value);
  const auto rungs = kernels_of(*device).block_reduce;
  for (int rung = 1; rung <= 2; ++rung) {
    CAPTURE(rung);
    CAPTURE(threads_per_cta);
    CAPTURE(values.size());
    const float got =
        sum_on(device, rungs[static_cast<std::size_t>(rung - 1)], values, threads_per_cta);
    const float expected = sum_in_stated_order(rung, values, threads_per_cta);
    CHECK(bits_of(got) == bits_of(expected));
    CHECK(std::fabs(static_cast<double>(got) - exact) <= sum_bound(values, threads_per_cta));
  }
}

void check_all_configurations(const std::shared_ptr<Device>& device) {
  std::uint64_t seed = 100;
  for (unsigned int threads_per_cta : kThreadsPerCta) {
    for (std::size_t count : {0u, 1u, 5u, 31u, 32u, 33u, 1000u, 3 * threads_per_cta + 17}) {
      check_sum(device, random_values(count, ++seed), threads_per_cta);
    }
  }
}

// More values than 1,024 thread blocks have threads: a thread adds up two or three.
void check_several_values_a_thread(const std::shared_ptr<Device>& device) {
  check_sum(device, random_values(2 * 1024 * 32 + 77, 7), 32);
  check_sum(device, random_values(1024 * 96 + 1, 8), 96);
}

// 1 + 2 + … + n = n (n + 1) / 2, exact as long as it is below 2^24.
void check_whole_numbers(const std::shared_ptr<Device>& device) {
  std::vector<float> values;
  for (int number = 1; number <= 5000; ++number) values.push_back(static_cast<float>(number));
  for (const auto& rung : kernels_of(*device).block_reduce) {
    CHECK(sum_on(device, rung, values, 256) == 5000.0f * 5001.0f / 2.0f);
    CHECK(sum_on(device, rung, {}, 256) == 0.0f);
    CHECK(sum_on(device, rung, {-3.5f}, 64) == -3.5f);
  }
}

}  // namespace

TEST_SUITE("block_reduce") {
  TEST_CASE("S7: a sum has the bits of the stated order in every configuration (simulators)") {
    on_simulators_in_all_orders(check_all_configurations);
  }
  TEST_CASE("S7: a sum has the bits of the stated order in every configuration (GPU)") {
    if (const auto device = gpu_or_skip()) check_all_configurations(device);
  }

  TEST_CASE("threads with several values add them up in a chain (simulators)") {
    for (const auto& device : simulators()) check_several_values_a_thread(device);
  }
  TEST_CASE("threads with several values add them up in a chain (GPU)") {
    if (const auto device = gpu_or_skip()) check_several_values_a_thread(device);
  }

  TEST_CASE("whole numbers add up exactly (simulators)") {
    for (const auto& device : simulators()) check_whole_numbers(device);
  }
  TEST_CASE("whole numbers add up exactly (GPU)") {
    if (const auto device = gpu_or_skip()) check_whole_numbers(device);
  }

  TEST_CASE("block_reduce refuses what cannot be launched in one sentence") {
    const auto device = simulator_device();
    const Rung<BlockReduceParams> rung = kernels_of(*device).block_reduce[0];
    for (unsigned int threads_per_cta : {0u, 33u, 1025u, 1056u}) {
      CAPTURE(threads_per_cta);
      CHECK_THROWS_AS(sum_on(device, rung, {1.0f}, threads_per_cta), Error);
    }
    CHECK_THROWS_WITH_AS(sum_on(device, rung, {1.0f}, 1056),
                         "block_reduce/1_shared_memory: threads_per_cta is 1056, but it must be a "
                         "multiple of 32 from 32 to 1024.",
                         Error);
    BlockReduceParams params;
    params.count = 7;
    CHECK_THROWS_WITH_AS(rung.launch(params),
                         "block_reduce/1_shared_memory: values is a null pointer, but the kernel "
                         "uses 7 elements of it. Was the array allocated on the device?",
                         Error);
    params.count = -1;
    CHECK_THROWS_AS(rung.launch(params), Error);
  }
}
