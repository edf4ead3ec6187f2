// Which launches are counted, by lines and as a whole, and how they are shown.

#include "simulator/simt/counters.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "simulator/simt/launch.h"
#include "tests/simulator/counted_arrays.h"
#include "tests/simulator/counted_kernels.h"

using namespace pagelab;
using namespace pagelab::simt;
using namespace pagelab::test;

TEST_SUITE("simt counters") {
  TEST_CASE("all thread blocks are counted") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_grid(arrays.x.data(), arrays.y.data(), 1000); });
    // 31 warps of 32 and one of 8 lanes: 4000 bytes in 125 sectors.
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(32, 1000, 4000, 125));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(32, 1000, 4000, 125));
  }

  TEST_CASE("counts and results do not depend on the order in which threads run") {
    const Arrays arrays;
    const auto launch = [&] { count_different_trips(arrays.x.data(), arrays.y.data()); };
    const Counters ascending = totals_of(launch);
    const std::vector<float> sums = arrays.y.values();
    CHECK(sums[2] == 2.0f + 34.0f + 66.0f);
    for (const ThreadOrder order : {ThreadOrder::kDescending, ThreadOrder::kShuffled}) {
      const ScopedThreadOrder scope(order, 7);
      CHECK(totals_of(launch) == ascending);
      CHECK(arrays.y.values() == sums);
    }
  }

  TEST_CASE("each launch is counted for itself and the lines add up to the totals") {
    const Arrays arrays;
    const ScopedCounting counting;
    count_shared_column(arrays.y.data());
    count_grid(arrays.x.data(), arrays.y.data(), 65);
    REQUIRE(counting.launches().size() == 2);
    CHECK(counting.launches()[0].kernel == "shared_column");
    CHECK(counting.launches()[1].kernel == "grid_copy");
    CHECK(counting.launches()[1].grid.x == 2);
    CHECK(counting.launches()[1].cta.x == 64);
    for (const LaunchCounters& launch : counting.launches()) {
      Counters sum;
      for (const LineCounters& line : launch.lines) sum += line.counters;
      CHECK(sum == launch.totals);
    }
    CHECK(message_of([&] { counting.counters(); }) ==
          "2 launches were counted, but counters() is for one: launches() has them all.");
  }

  TEST_CASE("each line has its own counts in the order of the source") {
    const Arrays arrays;
    const ScopedCounting counting;
    count_shared_column(arrays.y.data());
    const std::vector<LineCounters>& lines = counting.counters().lines;
    const auto line = [](int number) { return "counted_kernels.cpp:" + std::to_string(number); };
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].line == line(kColumnStoreLine));
    CHECK(lines[1].line == line(kColumnBarrierLine));
    CHECK(lines[2].line == line(kColumnLoadLine));
    CHECK(lines[3].line == line(kColumnLoadLine + 1));
    check_equal(lines[0].counters.of(MemoryKind::kSharedStore), shared(32, 1024, 4096, 32, 0));
    CHECK(lines[1].counters.of(WordKind::kBarrier) == 1);
    check_equal(lines[2].counters.of(MemoryKind::kSharedLoad), shared(1, 32, 128, 32, 31));
    check_equal(lines[3].counters.of(MemoryKind::kGlobalStore), global(1, 32, 128, 4));
  }

  TEST_CASE("nothing is counted outside and the inner of two countings takes a launch") {
    const Arrays arrays;
    const auto launch = [&] { count_grid(arrays.x.data(), arrays.y.data(), 10); };
    const ScopedCounting outer;
    {
      const ScopedCounting inner;
      launch();
      CHECK(inner.launches().size() == 1);
    }
    CHECK(outer.launches().empty());
    launch();
    CHECK(outer.launches().size() == 1);
    CHECK_FALSE(is_counting());
  }

  TEST_CASE("a launch that fails is not kept and the next one is counted afresh") {
    const Arrays arrays;
    const ScopedCounting counting;
    CHECK(message_of(
              [&] { count_strided_load(arrays.x.data(), arrays.y.data(), 0, 100000, 32); }) != "");
    CHECK(counting.launches().empty());
    count_grid(arrays.x.data(), arrays.y.data(), 10);
    check_equal(counting.counters().totals.of(MemoryKind::kGlobalLoad), global(1, 10, 40, 2));
  }

  TEST_CASE("a kernel that was not compiled for the checks is not counted in silence") {
    const ScopedCounting counting;
    CHECK(message_of([] { launch_unchecked(); }) ==
          "kernel unchecked cannot be counted: it was not compiled for the checks, so that its "
          "accesses are not seen. Launch it on the checked simulator.");
  }

  TEST_CASE("the table names kernel and kinds and gives the totals") {
    const Arrays arrays;
    const ScopedCounting counting;
    count_shared_column(arrays.y.data());
    const std::string text = to_string(counting.counters());
    CHECK(text.find("kernel shared_column, grid (1, 1, 1), thread block (32, 1, 1)") == 0);
    CHECK(text.find("all lines                    shared load               1          0    0.00"
                    "          128         32         31") != std::string::npos);
    CHECK(text.find("all lines                    barrier                   1") !=
          std::string::npos);
  }
}
