#include "simulator/simt/launch.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>
#include <vector>

#include "simulator/simt/cuda_words.h"
#include "simulator/simt/error.h"

using namespace pagelab;

namespace {

// The order in which threads of a launch ran, as flat indices with x fastest.
std::vector<unsigned> running_order(dim3 grid, dim3 cta) {
  std::vector<unsigned> order;
  simt::launch({"order", grid, cta, 0, simt::Checks::kOn}, [&] {
    const unsigned cta_idx = (blockIdx.z * grid.y + blockIdx.y) * grid.x + blockIdx.x;
    const unsigned thread_idx = (threadIdx.z * cta.y + threadIdx.y) * cta.x + threadIdx.x;
    order.push_back(cta_idx * static_cast<unsigned>(cta.count()) + thread_idx);
  });
  return order;
}

std::vector<unsigned> first_numbers(unsigned count) {
  std::vector<unsigned> numbers;
  for (unsigned number = 0; number < count; ++number) numbers.push_back(number);
  return numbers;
}

// Tiles as kernels have them: a thread block of 32 threads, and the last one only partly needed.
__global__ void double_elements(const int* x, int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  y[i] = 2 * x[i];
}

}  // namespace

TEST_SUITE("simulator launch") {
  TEST_CASE("every thread of every thread block runs once with its own coordinates") {
    const dim3 grid(3, 2, 4);
    const dim3 cta(5, 2, 3);
    using Coordinates = std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>;
    std::set<Coordinates> seen;
    int runs = 0;
    simt::launch({"coordinates", grid, cta, 0, simt::Checks::kOn}, [&] {
      CHECK(gridDim.x == 3);
      CHECK(gridDim.z == 4);
      CHECK(blockDim.y == 2);
      seen.insert({blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z});
      ++runs;
    });
    CHECK(runs == 3 * 2 * 4 * 5 * 2 * 3);
    CHECK(seen.size() == 3 * 2 * 4 * 5 * 2 * 3);
    CHECK(seen.count({2, 1, 3, 4, 1, 2}) == 1);
    CHECK(seen.count({3, 0, 0, 0, 0, 0}) == 0);
  }

  TEST_CASE("threads run by ascending index unless another order is asked for") {
    const dim3 grid(2, 3);
    const dim3 cta(4, 1, 2);
    const std::vector<unsigned> ascending = first_numbers(48);
    CHECK(running_order(grid, cta) == ascending);
    {
      const simt::ScopedThreadOrder order(simt::ThreadOrder::kDescending);
      CHECK(running_order(grid, cta) ==
            std::vector<unsigned>(ascending.rbegin(), ascending.rend()));
    }
    CHECK(running_order(grid, cta) == ascending);
  }

  TEST_CASE("a shuffled order runs every thread once and is the same for the same seed") {
    const auto shuffled = [](std::uint64_t seed) {
      const simt::ScopedThreadOrder order(simt::ThreadOrder::kShuffled, seed);
      return running_order(7, 9);
    };
    const std::vector<unsigned> one = shuffled(1);
    CHECK(std::set<unsigned>(one.begin(), one.end()).size() == 63);
    CHECK(one != first_numbers(63));
    CHECK(one == shuffled(1));
    CHECK(one != shuffled(2));
  }

  TEST_CASE("K14: sizes below and at and above a thread block are all processed to the end") {
    for (int n : {1, 5, 31, 32, 33}) {
      CAPTURE(n);
      std::vector<int> x, expected;
      for (int i = 0; i < n; ++i) {
        x.push_back(100 + i);
        expected.push_back(200 + 2 * i);
      }
      std::vector<int> y(n, -1);
      const unsigned ctas = static_cast<unsigned>((n + 31) / 32);
      simt::launch({"double_elements", ctas, 32}, [&] { double_elements(x.data(), y.data(), n); });
      CHECK(y == expected);
    }
  }

  TEST_CASE("K15: a flat index over batch and heads and time reaches each triple once") {
    // B = 2, NH = 3, T = 5, 30 threads: h = (i / 5) % 3, t = i % 5.
    const int num_heads = 3;
    const int num_positions = 5;
    std::set<std::tuple<int, int, int>> seen;
    simt::launch({"flat_index", 1, 30}, [&] {
      const int i = static_cast<int>(threadIdx.x);
      const int t = i % num_positions;
      const int h = i / num_positions % num_heads;
      const int b = i / num_positions / num_heads;
      seen.insert({b, h, t});
    });
    CHECK(seen.size() == 30);
    CHECK(seen.count({1, 2, 4}) == 1);
    CHECK(*seen.rbegin() == std::tuple(1, 2, 4));
  }

  TEST_CASE("a launch that a GPU would refuse is refused in a sentence") {
    const auto launch = [](dim3 grid, dim3 cta) { simt::launch({"k", grid, cta}, [] {}); };
    CHECK_THROWS_WITH_AS(launch(1, 1025),
                         "kernel k: thread block.x is 1025, but it must be from 1 to 1024.",
                         simt::Error);
    CHECK_THROWS_WITH_AS(launch(1, dim3(1, 1, 65)),
                         "kernel k: thread block.z is 65, but it must be from 1 to 64.",
                         simt::Error);
    CHECK_THROWS_WITH_AS(launch(1, dim3(32, 33)),
                         "kernel k: a thread block of (32, 33, 1) has 1056 threads, but at most "
                         "1024 are allowed.",
                         simt::Error);
    CHECK_THROWS_WITH_AS(
        launch(0, 1), "kernel k: grid.x is 0, but it must be from 1 to 2147483647.", simt::Error);
    CHECK_THROWS_WITH_AS(launch(dim3(1, 65536), 1),
                         "kernel k: grid.y is 65536, but it must be from 1 to 65535.", simt::Error);
    CHECK_NOTHROW(launch(1, 1024));
    CHECK_NOTHROW(launch(dim3(1, 1, 65535), 1));
    CHECK_NOTHROW(launch(1, dim3(16, 1, 64)));
  }

  TEST_CASE("a kernel cannot launch another one") {
    CHECK_THROWS_WITH_AS(
        simt::launch({"outer", 1, 1},
                     [] {
                       simt::launch({"inner", 1, 1}, [] {});
                     }),
        "kernel inner was launched from within kernel outer, which the simulator cannot do.",
        simt::Error);
    CHECK_NOTHROW(simt::launch({"again", 1, 1}, [] {}));
  }
}
