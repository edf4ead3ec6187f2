// What launches are counted as, against counts made by hand.

#include "simulator/simt/counters.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"
#include "tests/simulator/counted_kernels.h"

using namespace pagelab;
using namespace pagelab::simt;
using namespace pagelab::test;

namespace {

// Device memory of 4,096 numbers 0, 1, 2, …
template <typename T>
class Numbers {
 public:
  explicit Numbers(const std::string& name)
      : data_(static_cast<T*>(device_memory().allocate(kCount * sizeof(T), name))) {
    std::vector<T> values(kCount);
    for (std::size_t idx = 0; idx < kCount; ++idx) values[idx] = static_cast<T>(idx);
    device_memory().copy_to_device(data_, values.data(), kCount * sizeof(T));
  }
  ~Numbers() { device_memory().free(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> values(kCount);
    device_memory().copy_to_host(values.data(), data_, kCount * sizeof(T));
    return values;
  }
  static constexpr std::size_t kCount = 4096;

 private:
  T* data_;
};

struct Arrays {
  Numbers<float> x{"x"};
  Numbers<float> y{"y"};
  Numbers<float> z{"z"};
};

Counters totals_of(const std::function<void()>& launch) {
  const ScopedCounting counting;
  launch();
  return counting.counters().totals;
}

MemoryCounts global(std::uint64_t requests,
                    std::uint64_t lanes,
                    std::uint64_t bytes,
                    std::uint64_t sectors) {
  return {requests, lanes, bytes, sectors, 0, 0};
}

MemoryCounts shared(std::uint64_t requests,
                    std::uint64_t lanes,
                    std::uint64_t bytes,
                    std::uint64_t wavefronts,
                    std::uint64_t conflicts) {
  return {requests, lanes, bytes, 0, wavefronts, conflicts};
}

std::string text_of(const MemoryCounts& counts) {
  return std::to_string(counts.requests) + " requests, " + std::to_string(counts.lanes) +
         " lanes, " + std::to_string(counts.bytes) + " bytes, " + std::to_string(counts.sectors) +
         " sectors, " + std::to_string(counts.wavefronts) + " wavefronts, " +
         std::to_string(counts.conflicts) + " conflicts";
}

void check_equal(const MemoryCounts& counts, const MemoryCounts& expected) {
  CHECK(text_of(counts) == text_of(expected));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("simt counters") {
  TEST_CASE("neighbouring floats are one request of 4 sectors") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_strided_load(arrays.x.data(), arrays.y.data(), 0, 1, 32); });
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(1, 32, 128, 4));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 32, 128, 4));
    check_equal(counters.of(MemoryKind::kSharedLoad), {});
  }

  TEST_CASE("strides and offsets cost sectors") {
    const Arrays arrays;
    struct Case {
      int offset;
      int stride;
      std::uint64_t sectors;
    };
    // A lane's float every 4 · stride bytes; 32 bytes a sector; x begins at a multiple of 256.
    for (const Case& c :
         {Case{1, 1, 5}, {0, 2, 8}, {0, 32, 32}, {7, 0, 1}, {8, 1, 4}, {31, -1, 4}}) {
      CAPTURE(c.offset);
      CAPTURE(c.stride);
      const Counters counters = totals_of(
          [&] { count_strided_load(arrays.x.data(), arrays.y.data(), c.offset, c.stride, 32); });
      check_equal(counters.of(MemoryKind::kGlobalLoad), global(1, 32, 128, c.sectors));
    }
  }

  TEST_CASE("a partial last warp asks for less") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_strided_load(arrays.x.data(), arrays.y.data(), 0, 1, 45); });
    // 32 lanes: 4 sectors; 13 lanes: 52 bytes in 2 sectors.
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(2, 45, 180, 6));
  }

  TEST_CASE("vectors of 8 and 16 bytes are one request") {
    const Arrays arrays;
    const Counters pairs = totals_of([&] { count_pair_copy(arrays.x.data(), arrays.y.data()); });
    check_equal(pairs.of(MemoryKind::kGlobalLoad), global(1, 32, 256, 8));
    check_equal(pairs.of(MemoryKind::kGlobalStore), global(1, 32, 256, 8));
    const Counters quads = totals_of([&] { count_quad_copy(arrays.x.data(), arrays.y.data()); });
    check_equal(quads.of(MemoryKind::kGlobalLoad), global(1, 32, 512, 16));
    check_equal(quads.of(MemoryKind::kGlobalStore), global(1, 32, 512, 16));
  }

  TEST_CASE("32 bytes are one sector") {
    const Numbers<std::uint8_t> x("x");
    const Numbers<std::uint8_t> y("y");
    const Counters counters = totals_of([&] { count_byte_copy(x.data(), y.data()); });
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(1, 32, 32, 1));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 32, 32, 1));
  }

  TEST_CASE(
      "a column of a tile of 32 floats has a 32-way bank conflict and a padded one has none") {
    const Arrays arrays;
    const Counters column = totals_of([&] { count_shared_column(arrays.y.data()); });
    check_equal(column.of(MemoryKind::kSharedStore), shared(32, 1024, 4096, 32, 0));
    check_equal(column.of(MemoryKind::kSharedLoad), shared(1, 32, 128, 32, 31));
    const Counters padded = totals_of([&] { count_padded_column(arrays.y.data()); });
    check_equal(padded.of(MemoryKind::kSharedStore), shared(32, 1024, 4096, 32, 0));
    check_equal(padded.of(MemoryKind::kSharedLoad), shared(1, 32, 128, 1, 0));
  }

  TEST_CASE("16 bytes of shared memory a lane take four wavefronts and no conflict") {
    const Arrays arrays;
    const Counters counters = totals_of([&] { count_shared_quads(arrays.y.data()); });
    check_equal(counters.of(MemoryKind::kSharedStore), shared(1, 32, 512, 4, 0));
    // Lane 31 of the last quarter reads the first 16 bytes, in banks 0 to 3: nobody else's there.
    check_equal(counters.of(MemoryKind::kSharedLoad), shared(1, 32, 512, 4, 0));
  }

  TEST_CASE("a word that all lanes read is read once") {
    const Arrays arrays;
    const Counters counters = totals_of([&] { count_shared_broadcast(arrays.y.data()); });
    check_equal(counters.of(MemoryKind::kSharedStore), shared(1, 1, 4, 1, 0));
    check_equal(counters.of(MemoryKind::kSharedLoad), shared(1, 32, 128, 1, 0));
  }

  TEST_CASE("dynamic shared memory counts as shared memory") {
    const Arrays arrays;
    const Counters counters = totals_of([&] { count_dynamic_shared(arrays.y.data()); });
    check_equal(counters.of(MemoryKind::kSharedStore), shared(1, 32, 128, 1, 0));
    check_equal(counters.of(MemoryKind::kSharedLoad), shared(1, 32, 128, 1, 0));
  }

  TEST_CASE("halves of a warp that go different ways make a request each and then one together") {
    const Arrays arrays;
    for (const bool calls_function : {false, true}) {
      CAPTURE(calls_function);
      const Counters counters = totals_of(
          [&] { count_halves(arrays.x.data(), arrays.z.data(), arrays.y.data(), calls_function); });
      // Two loads of 16 lanes, 2 sectors each; then y is written by all.
      check_equal(counters.of(MemoryKind::kGlobalLoad), global(2, 32, 128, 4));
      check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 32, 128, 4));
    }
  }

  TEST_CASE("lanes whose loops end earlier wait for the others behind the loop") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_different_trips(arrays.x.data(), arrays.y.data()); });
    // Rows 0, 1 and 2 are read by 32, 21 (t % 3 ≥ 1) and 10 (t % 3 = 2) lanes, scattered over all of
    // each row's 4 sectors.
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(3, 63, 252, 12));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 32, 128, 4));
  }

  TEST_CASE("lanes that skip the rest of a round wait for the others at its end") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_skipped_rest(arrays.x.data(), arrays.y.data()); });
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(3, 96, 384, 12));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(3, 48, 192, 12));
  }

  TEST_CASE("lanes that call the same function from different places make no request together") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_two_calls(arrays.x.data(), arrays.z.data(), arrays.y.data()); });
    // Rows of x by 32, 21 and 10 lanes, as above, and then one of z by all 32.
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(4, 95, 380, 16));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 32, 128, 4));
  }

  TEST_CASE("lanes that returned are not part of later requests") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_early_return(arrays.x.data(), arrays.y.data()); });
    check_equal(counters.of(MemoryKind::kGlobalLoad), global(1, 16, 64, 4));
    check_equal(counters.of(MemoryKind::kGlobalStore), global(1, 24, 96, 4));
  }

  TEST_CASE("atomics are requests of their own and wait at the same word of shared memory") {
    const Numbers<int> numbers("numbers");
    const Counters all_at_one = totals_of([&] { count_global_atomics(numbers.data(), 1); });
    check_equal(all_at_one.of(MemoryKind::kGlobalAtomic), global(1, 32, 128, 32));
    const Counters spread = totals_of([&] { count_global_atomics(numbers.data(), 32); });
    check_equal(spread.of(MemoryKind::kGlobalAtomic), global(1, 32, 128, 4));
    CHECK(numbers.values()[0] == 33);
    CHECK(numbers.values()[31] == 32);
    const Counters one_word = totals_of([&] { count_shared_atomics(numbers.data(), 1); });
    check_equal(one_word.of(MemoryKind::kSharedAtomic), shared(1, 32, 128, 32, 31));
    const Counters eight_words = totals_of([&] { count_shared_atomics(numbers.data(), 8); });
    check_equal(eight_words.of(MemoryKind::kSharedAtomic), shared(1, 32, 128, 4, 3));
    CHECK(numbers.values()[7] == 4);
  }

  TEST_CASE("lanes that spin at a lock do not stop the one that holds it") {
    const Numbers<int> lock("lock");  // lock[0] = 0
    const Numbers<int> number("number");
    const Counters counters = totals_of([&] { count_lock(lock.data(), number.data()); });
    CHECK(number.values()[0] == 8);
    CHECK(counters.of(MemoryKind::kGlobalAtomic).requests >= 8 * 4);
  }

  TEST_CASE("words by which lanes meet are counted once for each warp") {
    const Arrays arrays;
    const Counters counters = totals_of([&] { count_words(arrays.y.data(), 96); });
    CHECK(counters.of(WordKind::kBarrier) == 3 * 2);
    CHECK(counters.of(WordKind::kShuffle) == 3 * 5);
    CHECK(counters.of(WordKind::kVote) == 3);
    CHECK(counters.of(WordKind::kWarpReduction) == 3);
    CHECK(counters.of(WordKind::kWarpBarrier) == 3);
    CHECK(counters.of(WordKind::kMatch) == 0);
  }

  TEST_CASE("__activemask gives the lanes that run together while they are counted") {
    const Numbers<float> x("x");
    const Numbers<unsigned int> masks("masks");
    std::vector<float> signs(32, 1.0f);
    signs[3] = signs[17] = 0.0f;
    device_memory().copy_to_device(x.data(), signs.data(), 32 * sizeof(float));
    totals_of([&] { count_activemask(x.data(), masks.data()); });
    const std::vector<unsigned int> values = masks.values();
    constexpr unsigned int kElse = 1u << 3 | 1u << 17;
    CHECK(values[0] == ~kElse);
    CHECK(values[17] == kElse);
    CHECK(values[32] == ~0u);
    CHECK(values[32 + 17] == ~0u);
  }

  TEST_CASE("an asynchronous copy is one request with sectors and wavefronts") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_async_copy(arrays.x.data(), arrays.y.data(), 32); });
    const MemoryCounts expected = {1, 32, 512, 16, 4, 0};
    check_equal(counters.of(MemoryKind::kAsyncCopy), expected);
    check_equal(counters.of(MemoryKind::kGlobalLoad), {});
    check_equal(counters.of(MemoryKind::kSharedStore), {});
    check_equal(counters.of(MemoryKind::kSharedLoad), shared(1, 32, 512, 4, 0));
    CHECK(arrays.y.values()[31] == 125.0f);  // element 1 of quad 31
  }

  TEST_CASE("an asynchronous copy of which some lanes read nothing is still one request") {
    const Arrays arrays;
    const Counters counters =
        totals_of([&] { count_async_copy(arrays.x.data(), arrays.y.data(), 20); });
    // 20 lanes read 16 bytes, two a sector; all 32 write.
    const MemoryCounts expected = {1, 32, 320, 10, 4, 0};
    check_equal(counters.of(MemoryKind::kAsyncCopy), expected);
    CHECK(arrays.y.values()[19] == 77.0f);  // element 1 of quad 19
    CHECK(arrays.y.values()[20] == 0.0f);
  }

  TEST_CASE("ldmatrix takes a wavefront for each matrix unless its rows meet in the banks") {
    const Numbers<std::uint16_t> a("a");
    const Numbers<float> c("c");
    // x4: 4 matrices of 8 rows of 16 bytes; x2: 2 matrices, 16 lanes. 32 bytes apart, row i + 4 lies in the
    // banks of row i: two wavefronts a matrix. 48 bytes apart, the rows begin 0, 48, 96, 16, 64, 112, 32
    // and 80 bytes into the banks: one.
    const Counters dense = totals_of([&] { count_matrix_product(a.data(), c.data(), false); });
    check_equal(dense.of(MemoryKind::kSharedLoad), shared(2, 48, 768, 12, 6));
    CHECK(dense.of(WordKind::kLdmatrix) == 2);
    CHECK(dense.of(WordKind::kMma) == 1);
    const Counters padded = totals_of([&] { count_matrix_product(a.data(), c.data(), true); });
    check_equal(padded.of(MemoryKind::kSharedLoad), shared(2, 48, 768, 6, 0));
  }

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
