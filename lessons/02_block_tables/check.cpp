// Judges an answer to the exercise of lesson 02. Expected slots are counted off block by block, with no
// division; expected outputs are attend()'s, over keys and values in a row.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lessons/02_block_tables/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"

namespace pagelab::lesson_02 {
namespace {

using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

/// One sequence and where its blocks lie.
struct Placement {
  std::string origin;
  int block_size;
  int seq_len;
  std::vector<int> blocks;
  int num_blocks;  // of the pool
};

int blocks_needed(int seq_len, int block_size) {
  int num_blocks = 0;
  for (int covered = 0; covered < seq_len; covered += block_size) ++num_blocks;
  return num_blocks;
}

/// The README's sequence, and random ones around the ends of blocks; the shortest first.
std::vector<Placement> placements() {
  std::vector<Placement> all = {{"the README's example", 4, 10, {6, 1, 4}, 8}};
  int seed = 0;
  for (int block_size : {1, 2, 3, 4, 7, 16}) {
    const int b = block_size;
    for (int seq_len : {1, b - 1, b, b + 1, 2 * b + 1, 3 * b}) {
      if (seq_len < 1) continue;
      RandomData random(++seed);
      const int needed = blocks_needed(seq_len, block_size);
      const int num_blocks = needed + 5;
      all.push_back({"random with seed " + show(seed), block_size, seq_len,
                     random.distinct(needed, num_blocks), num_blocks});
    }
  }
  const auto is_shorter = [](const Placement& a, const Placement& b) {
    return a.seq_len < b.seq_len;
  };
  std::stable_sort(all.begin(), all.end(), is_shorter);
  return all;
}

std::string describe(const Placement& placement) {
  return "block_table " + show(placement.blocks) + ", block_size " + show(placement.block_size) +
         ", seq_len " + show(placement.seq_len) + " (" + placement.origin + ")";
}

/// The slots of these blocks, one after the other.
std::vector<std::int64_t> slots_in_order(const Placement& placement) {
  std::vector<std::int64_t> slots;
  for (int block : placement.blocks) {
    std::int64_t slot = 0;
    for (int before = 0; before < block; ++before) slot += placement.block_size;
    for (int i = 0; i < placement.block_size; ++i) slots.push_back(slot++);
  }
  return slots;
}

/// A cache whose every slot is NaN but those of this sequence.
Rows cache_with(const Placement& placement, const Rows& rows) {
  const double poison = std::numeric_limits<double>::quiet_NaN();
  Rows cache(placement.num_blocks * placement.block_size, Row(rows[0].size(), poison));
  const std::vector<std::int64_t> slots = slots_in_order(placement);
  for (std::size_t i = 0; i < rows.size(); ++i) cache[slots[i]] = rows[i];
  return cache;
}

void check_choose_block_table(TaskCheck& task) {
  const std::string hint =
      "Blocks are whole: round up, and no more. No block can hold two stretches of a sequence; the "
      "second would overwrite the first.";
  for (const Placement& placement : placements()) {
    RandomData random(placement.seq_len);
    const int needed = blocks_needed(placement.seq_len, placement.block_size);
    const std::vector<int> free_blocks = random.distinct(needed + 3, needed + 8);
    task.input(placement.seq_len,
               "seq_len " + show(placement.seq_len) + ", block_size " + show(placement.block_size) +
                   ", free_blocks " + show(free_blocks),
               hint);
    std::vector<int> chosen =
        kAnswer.choose_block_table(placement.seq_len, placement.block_size, free_blocks);
    const std::string got = "blocks " + show(chosen);
    task.expect(static_cast<int>(chosen.size()) == needed,
                "as many blocks as it needs, " + show(needed), got);
    for (int block : chosen) {
      const bool is_free = std::ranges::find(free_blocks, block) != free_blocks.end();
      task.expect(is_free, "free blocks", got + "; " + show(block) + " is not free");
    }
    std::sort(chosen.begin(), chosen.end());
    const bool has_repeat = std::adjacent_find(chosen.begin(), chosen.end()) != chosen.end();
    task.expect(!has_repeat, "different blocks, in any order", got);
  }
}

void check_slot_of(TaskCheck& task) {
  const std::string hint_at_boundary =
      "This position is the first of its block: which logical block is it in, and which physical "
      "block stands behind that in the table?";
  const std::string hint_inside =
      "Two numbers make a slot: which block (ask the table), and how far into it (the remainder).";
  for (const Placement& placement : placements()) {
    const std::vector<std::int64_t> slots = slots_in_order(placement);
    const BlockTableRow block_table(placement.blocks);
    for (int position = 0; position < placement.seq_len; ++position) {
      const bool at_boundary = position % placement.block_size == 0;
      task.input(placement.seq_len, describe(placement) + ", position " + show(position),
                 at_boundary ? hint_at_boundary : hint_inside);
      task.expect_equal("slot", kAnswer.slot_of(block_table, position, placement.block_size),
                        slots[position]);
    }
  }
}

void check_slot_mapping_of(TaskCheck& task) {
  const std::string hint =
      "New token i has position num_computed_tokens + i, and every position asks the table.";
  for (const Placement& placement : placements()) {
    const std::vector<std::int64_t> slots = slots_in_order(placement);
    const BlockTableRow block_table(placement.blocks);
    RandomData random(placement.seq_len);
    const int seq_len = placement.seq_len;
    for (int num_computed : {0, seq_len - 1, random.integer(0, seq_len)}) {
      const int num_new = seq_len - num_computed;
      task.input(seq_len,
                 describe(placement) + ", num_computed_tokens " + show(num_computed) +
                     ", num_new_tokens " + show(num_new),
                 hint);
      const std::vector<std::int64_t> expected(slots.begin() + num_computed,
                                               slots.begin() + seq_len);
      task.expect_equal(
          "slots",
          kAnswer.slot_mapping_of(block_table, num_computed, num_new, placement.block_size),
          expected);
    }
  }
}

void check_gather(TaskCheck& task) {
  const std::string hint =
      "Rows come in the order of the sequence, seq_len of them: what follows in the last block is "
      "somebody else's, or nothing (NaN here).";
  for (const Placement& placement : placements()) {
    RandomData random(placement.seq_len);
    const Rows rows = random.rows(placement.seq_len, 2);
    task.input(placement.seq_len, describe(placement), hint);
    const Rows got = kAnswer.gather(cache_with(placement, rows), BlockTableRow(placement.blocks),
                                    placement.seq_len, placement.block_size);
    task.expect_equal("rows", got, rows);
  }
}

std::string cost_of(const Placement& placement, int lookups) {
  const int enough = 2 * static_cast<int>(placement.blocks.size());
  const std::string spent = show(placement.seq_len) + " tokens in " +
                            show(static_cast<int>(placement.blocks.size())) + " blocks took " +
                            show(lookups) + " lookups of the block table";
  if (lookups <= enough) return spent + ".";
  return spent + "; one a block for the keys and one for the values would be " + show(enough) + ".";
}

void check_attend_in_place(TaskCheck& task) {
  const std::string hint =
      "The bits of attend(): one maximum and one sum over the whole sequence, positions in "
      "increasing order, and nothing read past seq_len, not even to be multiplied by 0.";
  for (const Placement& placement : placements()) {
    RandomData random(placement.seq_len);
    const int head_size = 3;
    const Row query = random.numbers(head_size);
    const Rows keys = random.rows(placement.seq_len, head_size);
    const Rows values = random.rows(placement.seq_len, head_size);
    const PagedCache cache = {placement.block_size, cache_with(placement, keys),
                              cache_with(placement, values)};
    const BlockTableRow block_table(placement.blocks);
    task.input(placement.seq_len, describe(placement) + ", query " + show(query), hint);
    const Row got = kAnswer.attend_in_place(query, cache, block_table, placement.seq_len);
    task.expect_equal("output", got, attend(query, keys, values));
    task.cost(cost_of(placement, block_table.lookups()));
  }
}

}  // namespace
}  // namespace pagelab::lesson_02

int main(int argc, char** argv) {
  using namespace pagelab::lesson_02;
  pagelab::lessons::Checker checker("02", "block tables", kAnswer.path);
  checker.add_task("choose_block_table", check_choose_block_table);
  checker.add_task("slot_of", check_slot_of);
  checker.add_task("slot_mapping_of", check_slot_mapping_of);
  checker.add_task("gather", check_gather);
  checker.add_task("attend_in_place", check_attend_in_place);
  return checker.run(argc, argv);
}
