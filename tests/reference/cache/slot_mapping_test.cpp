#include "reference/cache/slot_mapping.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/cache/kernel_blocks.h"
#include "reference/contract/error.h"
#include "tests/support/environment.h"

using namespace pagelab;

namespace {

using Json = nlohmann::json;

// The golden lines' tables, made by vLLM 0.32.0.
std::vector<Json> golden_lines() {
  std::ifstream file(test::golden_dir() / "engine" / "slot_mapping.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

// A golden line's batch.
struct Batch {
  explicit Batch(const Json& line)
      : block_size(line["bs"]),
        parallel{line["cp"][0], line["cp"][1], line["cp"][2]},
        rows(line["rows"]) {
    const std::vector<std::int32_t> computed = line["computed"];
    const std::vector<std::int32_t> query_lens = line["qlens"];
    for (std::size_t req_idx = 0; req_idx < query_lens.size(); ++req_idx) {
      query_start_loc.push_back(query_start_loc.back() + query_lens[req_idx]);
      seq_lens.push_back(computed[req_idx] + query_lens[req_idx]);
    }
  }

  std::int64_t block_size;
  ContextParallel parallel;
  std::vector<std::vector<std::int32_t>> rows;
  std::vector<std::int32_t> query_start_loc = {0};
  std::vector<std::int32_t> seq_lens;
};

}  // namespace

TEST_SUITE("slot mapping") {
  TEST_CASE("every golden line's slots and positions are ours") {
    const std::vector<Json> lines = golden_lines();
    REQUIRE(lines.size() == 300);
    for (const Json& line : lines) {
      CAPTURE(line["id"].get<int>());
      const Batch batch(line);
      const std::vector<std::int64_t> slots =
          slot_mapping_of(BlockTable::from_rows(batch.rows), batch.query_start_loc, batch.seq_lens,
                          batch.block_size, line["cap"], batch.parallel);
      CHECK(slots == line["slots"].get<std::vector<std::int64_t>>());
      CHECK(positions_of(batch.query_start_loc, batch.seq_lens) ==
            line["pos"].get<std::vector<std::int64_t>>());

      std::vector<std::int32_t> padded_seq_lens = batch.seq_lens;
      padded_seq_lens.resize(batch.seq_lens.size() + 3, 0);
      CHECK(padded_seq_lens == line["seq_lens"].get<std::vector<std::int32_t>>());
    }
  }

  TEST_CASE("every golden line's kernel block table is ours") {
    std::int64_t num_tables = 0;
    for (const Json& line : golden_lines()) {
      if (!line.contains("kernel")) continue;
      CAPTURE(line["id"].get<int>());
      const Json& kernel = line["kernel"];
      std::vector<std::vector<std::int32_t>> rows = line["rows"];
      // The worker's table has its null block, 0, in unused columns.
      for (std::vector<std::int32_t>& row : rows) row.resize(kernel["width"], 0);
      const std::int64_t manager_block_size = line["bs"];
      const std::int64_t kernel_block_size = kernel["kbs"];
      const BlockTable table = kernel_block_table(
          BlockTable::from_rows(rows), manager_block_size / kernel_block_size, kernel["stride"]);
      const std::vector<std::vector<std::int32_t>> expected = kernel["table"];
      CHECK(table.entries == BlockTable::from_rows(expected).entries);
      ++num_tables;
    }
    CHECK(num_tables == 158);
  }

  TEST_CASE("tokens past the last request are not stored") {
    const std::vector<std::int32_t> query_start_loc = {0, 2, 2, 3};
    const std::vector<std::int32_t> seq_lens = {5, 0, 1};
    const BlockTable table = BlockTable::from_rows({{3, 1}, {}, {2}});
    // Positions 3 and 4 of request 0: 3 · 4 + 3 and 1 · 4 + 0. Position 0 of request 2: 2 · 4.
    CHECK(slot_mapping_of(table, query_start_loc, seq_lens, 4, 5) ==
          std::vector<std::int64_t>{15, 4, 8, kNoSlot, kNoSlot});
  }

  TEST_CASE("each token of a request lies on exactly one rank") {
    const std::vector<std::int32_t> row = {5, 2, 7};
    for (std::int64_t position = 0; position < 3 * 6 * 4; ++position) {
      int owners = 0;
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        owners += slot_of(row, position, 6, {4, rank, 3}) != kNoSlot;
      }
      CHECK(owners == 1);
    }
  }

  TEST_CASE("an inconsistent batch has no slots but a sentence") {
    const BlockTable table = BlockTable::from_rows({{3, -1}});
    const auto slots = [&table](std::vector<std::int32_t> query_start_loc,
                                std::vector<std::int32_t> seq_lens, std::int64_t block_size = 4,
                                std::int64_t num_tokens = 9, ContextParallel parallel = {}) {
      return slot_mapping_of(table, query_start_loc, seq_lens, block_size, num_tokens, parallel);
    };
    CHECK_THROWS_WITH_AS(slots({0, 1, 2}, {4}),
                         "query_start_loc has 3 entries, but 1 requests need 2.", Error);
    CHECK_THROWS_WITH_AS(slots({1, 2}, {4}), "query_start_loc[0] is 1; it must be 0.", Error);
    CHECK_THROWS_WITH_AS(slots({0, -1}, {4}),
                         "query_start_loc[1] is -1, less than the 0 before it.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 5}, {4}), "request 0 has 5 query tokens, but seq_lens[0] is 4.",
                         Error);
    CHECK_THROWS_WITH_AS(slots({0, 1, 2}, {4, 4}),
                         "block_table has 1 rows, but there are 2 requests.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 1}, {4}, 0), "block_size is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 3}, {4}, 4, 2),
                         "num_tokens is 2, but query_start_loc ends at 3.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 1}, {5}),
                         "block_table[0][1] is -1, but token 4 of request 0 lies there.", Error);
    CHECK_THROWS_WITH_AS(
        slots({0, 1}, {9}),
        "request 0 needs logical block 2 for token 8, but block_table has 2 columns.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 1}, {4}, 4, 1, {2, 2, 1}), "rank is 2, but there are 2 ranks.",
                         Error);
    CHECK_THROWS_WITH_AS(slots({0, 1}, {4}, 4, 1, {0, 0, 1}),
                         "world_size is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(slots({0, 1}, {4}, 4, 1, {2, 1, 0}),
                         "interleave is 0; it must be at least 1.", Error);
  }
}
