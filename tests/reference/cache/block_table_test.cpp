#include "reference/cache/block_table.h"

#include <doctest/doctest.h>

using namespace pagelab;

TEST_SUITE("block table") {
  TEST_CASE("a position's slot is its block times the block size plus the rest") {
    // The lesson's table: positions 0-3 in slots 24-27, 4-7 in 4-7, 8-9 in 16-17.
    const BlockTable table = BlockTable::from_rows({{6, 1, 4}});
    const std::vector<std::int64_t> expected = {24, 25, 26, 27, 4, 5, 6, 7, 16, 17};
    for (std::int64_t position = 0; position < 10; ++position) {
      CHECK(slot_of(table.row(0), position, 4) == expected[static_cast<std::size_t>(position)]);
    }
  }

  TEST_CASE("shorter rows end in unused entries") {
    const BlockTable table = BlockTable::from_rows({{5}, {}, {7, 2, 9}});
    CHECK(table.num_reqs == 3);
    CHECK(table.max_blocks_per_req == 3);
    CHECK(table.entries == std::vector<std::int32_t>{5, -1, -1, -1, -1, -1, 7, 2, 9});
    CHECK(to_string(table) == "request 0: [5]\nrequest 1: []\nrequest 2: [7 2 9]");
  }

  TEST_CASE("a row is a part of its table") {
    BlockTable table = BlockTable::unused(2, 3);
    table.row(1)[2] = 8;
    CHECK(table.entries[5] == 8);
  }

  TEST_CASE("the last block may be partly filled") {
    CHECK(blocks_for_tokens(0, 4) == 0);
    CHECK(blocks_for_tokens(1, 4) == 1);
    CHECK(blocks_for_tokens(3, 4) == 1);
    CHECK(blocks_for_tokens(4, 4) == 1);
    CHECK(blocks_for_tokens(5, 4) == 2);
  }
}
