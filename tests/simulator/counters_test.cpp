// What the accesses and words of a launch are counted as, against counts made by hand.

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
}
