#include "reference/model/free_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

TEST_SUITE("free blocks") {
  TEST_CASE("every block but the null block is handed out once in any order") {
    for (const std::optional<std::uint64_t> seed :
         {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
      FreeBlocks free_blocks(6, seed);
      CHECK(free_blocks.num_usable() == 5);
      std::vector<std::int32_t> taken = free_blocks.take(5);
      CHECK(free_blocks.num_free() == 0);
      CHECK(std::is_sorted(taken.begin(), taken.end()) == !seed.has_value());
      std::sort(taken.begin(), taken.end());
      CHECK(taken == std::vector<std::int32_t>{1, 2, 3, 4, 5});
    }
  }

  TEST_CASE("a pool holds the null block and one more at least") {
    CHECK(FreeBlocks(2).num_usable() == 1);
    CHECK(refusal_of([] { FreeBlocks(1); }) ==
          "num_blocks is 1; it must be from 2 (the null block and one for tokens) to 2147483647.");
    CHECK(refusal_of([] { FreeBlocks(-3); }) ==
          "num_blocks is -3; it must be from 2 (the null block and one for tokens) to 2147483647.");
    CHECK(refusal_of([] { FreeBlocks(std::int64_t{1} << 40); }) != "(accepted)");
  }

  TEST_CASE("taking too many and giving back twice are refused") {
    FreeBlocks free_blocks(4);
    CHECK(refusal_of([&] { free_blocks.take(4); }) == "4 blocks were asked for, but 3 are free.");
    const std::vector<std::int32_t> taken = free_blocks.take(2);  // 1, 2
    free_blocks.give_back(taken);
    CHECK(free_blocks.num_free() == 3);
    CHECK(refusal_of([&] { free_blocks.give_back({2}); }) == "block 2 was given back twice.");
    CHECK(refusal_of([&] { free_blocks.give_back({0}); }) ==
          "block 0 was given back, but the pool hands out 1 to 3.");
    CHECK(refusal_of([&] { free_blocks.give_back({4}); }) ==
          "block 4 was given back, but the pool hands out 1 to 3.");
  }
}
