#include "reference/cache/kernel_blocks.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/contract/error.h"
#include "tests/support/environment.h"

using namespace pagelab;

namespace {

using Json = nlohmann::json;

std::vector<std::vector<AcceptedBlockSize>> backends_of(const Json& line) {
  std::vector<std::vector<AcceptedBlockSize>> backends;
  for (const Json& backend : line["backends"]) {
    std::vector<AcceptedBlockSize>& accepted = backends.emplace_back();
    for (const Json& rule : backend) {
      if (rule.is_object()) {
        accepted.push_back({rule["multiple_of"], true});
      } else {
        accepted.push_back({rule, false});
      }
    }
  }
  return backends;
}

}  // namespace

TEST_SUITE("kernel blocks") {
  TEST_CASE("every golden line's kernel block size is ours") {
    std::ifstream file(test::golden_dir() / "engine" / "kernel_block_size.jsonl");
    std::int64_t num_lines = 0;
    std::int64_t num_refused = 0;
    for (std::string text; std::getline(file, text);) {
      const Json line = Json::parse(text);
      CAPTURE(text);
      const std::vector<std::vector<AcceptedBlockSize>> backends = backends_of(line);
      if (line["chosen"].is_null()) {
        CHECK_THROWS_AS(choose_kernel_block_size(line["manager"], backends), Error);
        ++num_refused;
      } else {
        CHECK(choose_kernel_block_size(line["manager"], backends) ==
              line["chosen"].get<std::int64_t>());
      }
      ++num_lines;
    }
    CHECK(num_lines == 200);
    CHECK(num_refused > 0);
  }

  TEST_CASE("backends that agree on no size are named with what they accept") {
    const std::vector<std::vector<AcceptedBlockSize>> backends = {{{128, false}},
                                                                  {{32, true}, {16, false}}};
    CHECK_THROWS_WITH_AS(choose_kernel_block_size(48, backends),
                         "no kernel block size divides the manager's block size 48 and suits every "
                         "backend; they accept [128] and [multiples of 32, 16].",
                         Error);
    CHECK_THROWS_WITH_AS(choose_kernel_block_size(0, backends),
                         "the manager's block size is 0; it must be at least 1.", Error);
    const std::vector<std::vector<AcceptedBlockSize>> zero = {{{0, true}}};
    CHECK_THROWS_WITH_AS(choose_kernel_block_size(48, zero),
                         "a backend accepts block size 0; it must be at least 1.", Error);
  }

  TEST_CASE("G7: manager blocks are converted to kernel blocks and trimmed to the length") {
    const BlockTable manager_table = BlockTable::from_rows({{5, 2}});
    const BlockTable kernel_table = kernel_block_table(manager_table, 64 / 16);
    CHECK(kernel_table.entries == std::vector<std::int32_t>{20, 21, 22, 23, 8, 9, 10, 11});
    const std::vector<std::int32_t> seq_lens = {70};
    CHECK(to_string(without_blocks_past_end(kernel_table, seq_lens, 16)) ==
          "request 0: [20 21 22 23 8]");
  }

  TEST_CASE("unused entries stay unused and a stride leaves room for other layers") {
    const BlockTable manager_table = BlockTable::from_rows({{5}, {1, 0}});
    // Manager block b becomes 7·b and 7·b + 1.
    CHECK(kernel_block_table(manager_table, 2, 7).entries ==
          std::vector<std::int32_t>{35, 36, -1, -1, 7, 8, 0, 1});
  }

  TEST_CASE("kernel blocks that cannot be numbered are refused") {
    const BlockTable table = BlockTable::from_rows({{1 << 30}});
    CHECK_THROWS_WITH_AS(kernel_block_table(table, 4),
                         "block id 1073741824 has no kernel blocks of stride 4 within an int32.",
                         Error);
    CHECK_THROWS_WITH_AS(kernel_block_table(table, 0),
                         "blocks_per_manager_block is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(kernel_block_table(table, 4, 3),
                         "stride is 3, but a manager block has 4 kernel blocks.", Error);
    const std::vector<std::int32_t> negative = {-1};
    const std::vector<std::int32_t> two = {1, 1};
    CHECK_THROWS_WITH_AS(without_blocks_past_end(table, negative, 4),
                         "seq_lens[0] is -1; it must be at least 0.", Error);
    CHECK_THROWS_WITH_AS(without_blocks_past_end(table, two, 4),
                         "the table has 1 rows, but there are 2 lengths.", Error);
    CHECK_THROWS_WITH_AS(without_blocks_past_end(table, negative, 0),
                         "block_size is 0; it must be at least 1.", Error);
  }
}
