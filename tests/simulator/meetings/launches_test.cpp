// What a launch leaves behind when it fails: nothing. And launches that begin while others are under way.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu/device/launch.h"
#include "simulator/simt/cuda_words.h"
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"

using namespace pagelab;

namespace {

// There are no checks under ThreadSanitizer.
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
constexpr simt::Checks kChecked = simt::Checks::kOn;
#else
constexpr simt::Checks kChecked = simt::Checks::kOff;
#endif

// What a launch says: its error, or nothing.
template <typename Kernel>
std::string error_of(const simt::LaunchConfig& config, const Kernel& kernel) {
  try {
    simt::launch(config, kernel);
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

// sums[b] = 0 + 1 + … + (threads − 1), by way of shared memory, barriers and shuffles.
__global__ void sum_in_cta(int* sums) {
  __shared__ int of_warps[32];
  const int thread = static_cast<int>(threadIdx.x);
  int sum = thread;
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (thread % 32 == 0) of_warps[thread / 32] = sum;
  __syncthreads();
  if (thread == 0) {
    int total = 0;
    for (int warp = 0; warp < static_cast<int>(blockDim.x) / 32; ++warp) total += of_warps[warp];
    sums[blockIdx.x] = total;
  }
}

// Launches it, and says whether all sums are right.
bool sums_are_right(unsigned int num_ctas, unsigned int threads_per_cta, simt::Checks checks) {
  std::vector<int> sums(num_ctas, -1);
  simt::launch({"sum_in_cta", num_ctas, threads_per_cta, 0, checks},
               [&] { sum_in_cta(sums.data()); });
  const int expected = static_cast<int>(threads_per_cta * (threads_per_cta - 1) / 2);
  return std::all_of(sums.begin(), sums.end(), [&](int sum) { return sum == expected; });
}

}  // namespace

TEST_SUITE("launches") {
  TEST_CASE("an exception of a kernel ends its launch and says where") {
    const auto throws = [] {
      __syncthreads();
      if (threadIdx.x == 37) throw std::runtime_error("no such head");
      __syncthreads();
    };
    CHECK(error_of({"throws", 1, 64}, throws) ==
          "kernel throws, thread block (0, 0, 0), thread (37, 0, 0) threw an exception: no such "
          "head");
    CHECK(error_of({"throws", 1, 37}, throws) == "");
    const auto throws_a_number = [] {
      if (threadIdx.x == 3) throw 42;
    };
    CHECK(error_of({"throws", 1, 4}, throws_a_number) ==
          "kernel throws, thread block (0, 0, 0), thread (3, 0, 0) threw something that is no "
          "exception.");
  }

  TEST_CASE("an exception that a kernel catches itself while others wait is no error") {
    std::vector<int> caught(64);
    const auto catches = [&] {
      try {
        __syncthreads();
        if (threadIdx.x % 2 == 0) throw std::runtime_error("even");
        __syncwarp(0xaaaaaaaau);
      } catch (const std::runtime_error&) {
        caught[threadIdx.x] = 1;
      }
      __syncthreads();
    };
    CHECK(error_of({"catches", 1, 64}, catches) == "");
    CHECK(std::accumulate(caught.begin(), caught.end(), 0) == 32);
  }

  TEST_CASE("a failed launch leaves nothing behind for those that follow") {
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      const auto stuck_at_barrier = [] {
        if (threadIdx.x < 700) __syncthreads();
      };
      CHECK(error_of({"stuck", 3, 1024}, stuck_at_barrier) != "");
      const auto stuck_at_shuffle = [] {
        if (threadIdx.x % 32 != 5) __shfl_sync(0xffffffffu, 1, 0);
      };
      CHECK(error_of({"stuck", 3, 96}, stuck_at_shuffle) != "");
      REQUIRE(sums_are_right(7, 1024, simt::Checks::kOff));
      REQUIRE(sums_are_right(3, 64, kChecked));
    }
  }

  TEST_CASE("the first thread block that fails is the one that is reported") {
    const auto one_is_stuck = [] {
      if (blockIdx.x >= 20 && threadIdx.x == 0) return;
      __syncthreads();
    };
    for (int round = 0; round < 20; ++round) {
      const std::string error = error_of({"stuck", 200, 64}, one_is_stuck);
      CHECK(error.find("thread block (20, 0, 0)") != std::string::npos);
    }
  }

  TEST_CASE("launches from several host threads at once do not disturb each other") {
    std::atomic<int> num_wrong = 0;
    const auto work = [&](int which) {
      for (int round = 0; round < 20; ++round) {
        const simt::Checks checks = which % 2 == 0 ? simt::Checks::kOff : kChecked;
        const unsigned int threads = which < 2 ? 256 : 96;
        if (!sums_are_right(20, threads, checks)) ++num_wrong;
        const auto stuck = [] {
          if (threadIdx.x < 3) __syncthreads();
        };
        if (error_of({"stuck", 2, 64, 0, checks}, stuck).empty()) ++num_wrong;
      }
    };
    std::vector<std::thread> threads;
    for (int which = 0; which < 4; ++which) threads.emplace_back(work, which);
    for (std::thread& thread : threads) thread.join();
    CHECK(num_wrong == 0);
  }

  TEST_CASE("launches that no GPU would take are refused in a sentence each") {
    const auto nothing = [] {};
    CHECK(error_of({"k", 1, 0}, nothing) ==
          "kernel k: thread block.x is 0, but it must be from 1 to 1024.");
    CHECK(error_of({"k", 1, simt::dim3(1, 0)}, nothing) ==
          "kernel k: thread block.y is 0, but it must be from 1 to 1024.");
    CHECK(error_of({"k", simt::dim3(1, 1, 0), 1}, nothing) ==
          "kernel k: grid.z is 0, but it must be from 1 to 65535.");
    CHECK(error_of({"k", 1, simt::dim3(1025)}, nothing) ==
          "kernel k: thread block.x is 1025, but it must be from 1 to 1024.");
    CHECK(error_of({"k", 1, simt::dim3(2, 2, 65)}, nothing) ==
          "kernel k: thread block.z is 65, but it must be from 1 to 64.");
    CHECK(
        error_of({"k", 1, 32, 227 * 1024 + 1}, nothing) ==
        "kernel k: 232449 bytes of dynamic shared memory are asked for, but a thread block has at "
        "most 232448.");
    CHECK(error_of({"k", 1, 32, 227 * 1024}, nothing) == "");
    CHECK_THROWS_WITH_AS(launch<int>("k", 1, 32, nullptr, 5),
                         "kernel k is a null pointer: there is nothing to launch.", Error);
  }

  // Two thread blocks that need each other run at the same time on two cores; on one they cannot.
  TEST_CASE("a thread block waits for another one that a second core runs") {
    if (std::thread::hardware_concurrency() < 2) return;
    std::vector<int> arrived(1);
    CHECK(error_of({"meet", 2, 32}, [&] {
            if (threadIdx.x != 0) return;
            atomicAdd(arrived.data(), 1);
            while (atomicAdd(arrived.data(), 0) < 2) {
            }
          }) == "");
  }

  TEST_CASE("thread blocks on all cores that spin for ever are reported") {
    std::vector<int> lock(1);
    const std::string error = error_of({"stuck", 5, 64}, [&] {
      while (atomicCAS(lock.data(), 0, 1) != 0) {
      }
    });
    CHECK(error.find("an atomic") != std::string::npos);
    CHECK(error.find(" spins for ever") != std::string::npos);
  }

  TEST_CASE("threads that wait for one that works for long are not taken for a deadlock") {
    std::vector<int> flag(1);
    std::vector<int> numbers(33);
    // Warp 1 adds up, first with atomics that have an effect and then with shuffles, while warp 0 spins.
    const auto wait_for_warp_1 = [&] {
      const bool is_worker = threadIdx.x >= 32;
      while (!is_worker && atomicAdd(flag.data(), 0) == 0) {
      }
      if (!is_worker) return;
      int sum = 0;
      for (int i = 0; i < 12000; ++i) atomicAdd(&numbers[threadIdx.x - 32], 1);
      for (int i = 0; i < 6000; ++i) sum += __shfl_sync(0xffffffffu, 1, i);
      if (threadIdx.x == 32) atomicExch(&numbers[32], sum);
      if (threadIdx.x == 63) atomicExch(flag.data(), 1);
    };
    for (const simt::ThreadOrder order :
         {simt::ThreadOrder::kAscending, simt::ThreadOrder::kDescending}) {
      const simt::ScopedThreadOrder scope(order);
      flag[0] = 0;
      numbers.assign(33, 0);
      CHECK(error_of({"wait", 1, 64}, wait_for_warp_1) == "");
      CHECK(numbers[7] == 12000);
      CHECK(numbers[32] == 6000);
    }
  }

  TEST_CASE("a long loop of atomics that change nothing is not taken for a lock") {
    std::vector<int> largest(1, 5);
    CHECK(error_of({"maximum", 1, 32}, [&] {
            for (int i = 0; i < 200000; ++i) atomicMax(largest.data(), 4);
          }) == "");
    CHECK(largest[0] == 5);
  }
}
