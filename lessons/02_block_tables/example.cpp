// Lesson 02: one sequence of ten tokens, once in a row and once scattered over three blocks.
// Arguments: three block numbers of 0 to 7, the block table; without any it is 6 1 4.

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "lessons/02_block_tables/attend.h"

using pagelab::lesson_02::attend, pagelab::lesson_02::Row, pagelab::lesson_02::Rows;

constexpr int kBlockSize = 4, kNumBlocks = 8, kHeadSize = 3, kSeqLen = 10;

// The whole of paging: where position `position` of the sequence lies in the cache.
int slot_of(const std::vector<int>& block_table, int position) {
  const int logical_block = position / kBlockSize;
  const int block_offset = position % kBlockSize;
  return block_table[logical_block] * kBlockSize + block_offset;
}

// The gathering form: copy the sequence out of the cache, then call the ordinary attention.
// A real kernel reads each block where it lies instead; that form is task 5.
Row paged_attend(const Row& query,
                 const Rows& key_cache,
                 const Rows& value_cache,
                 const std::vector<int>& block_table) {
  Rows keys, values;
  for (int position = 0; position < kSeqLen; ++position) {
    keys.push_back(key_cache[slot_of(block_table, position)]);
    values.push_back(value_cache[slot_of(block_table, position)]);
  }
  return attend(query, keys, values);
}

void print_where_it_lies(const std::vector<int>& table) {
  std::printf("\nblock table [%d %d %d]: positions", table[0], table[1], table[2]);
  std::set<int> slots;
  for (int first = 0; first < kSeqLen; first += kBlockSize) {
    const int last = std::min(first + kBlockSize, kSeqLen) - 1;
    const char* verb = first == 0 ? "are in slots" : "in";
    std::printf("%s %d-%d %s", first == 0 ? "" : ",", first, last, verb);
    std::printf(" %d-%d", slot_of(table, first), slot_of(table, last));
    for (int i = first; i <= last; ++i) slots.insert(slot_of(table, i));
  }
  std::printf("\n%zu of %d slots hold this sequence; ", slots.size(), kNumBlocks * kBlockSize);
  std::printf("the rest belong to other requests or are free\n");
}

int main(int argc, char** argv) {
  std::vector<int> block_table;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    const bool is_block = argument.size() == 1 && argument >= "0" && argument <= "7";
    block_table.push_back(is_block ? argument[0] - '0' : kNumBlocks);
  }
  if (block_table.empty()) block_table = {6, 1, 4};
  if (block_table.size() != 3 || std::ranges::max(block_table) >= kNumBlocks) {
    std::fprintf(stderr, "The block table needs 3 blocks, each of 0 to 7, as in: 6 1 4.\n");
    return 2;
  }

  const Row query = {0.3, -1.1, 0.7};
  Rows keys(kSeqLen, Row(kHeadSize)), values = keys;
  Rows key_cache(kNumBlocks * kBlockSize, Row(kHeadSize)), value_cache = key_cache;
  for (int i = 0; i < kSeqLen; ++i) {
    for (int d = 0; d < kHeadSize; ++d) keys[i][d] = std::sin(3 * i + d);
    for (int d = 0; d < kHeadSize; ++d) values[i][d] = std::cos(5 * i + 2 * d);
    key_cache[slot_of(block_table, i)] = keys[i];
    value_cache[slot_of(block_table, i)] = values[i];
  }
  const Row plain = attend(query, keys, values);
  const Row paged = paged_attend(query, key_cache, value_cache, block_table);
  const bool identical = plain == paged;  // bit for bit: no tolerance
  std::printf("contiguous attention: [% .6f % .6f % .6f]\n", plain[0], plain[1], plain[2]);
  std::printf("paged attention:      [% .6f % .6f % .6f]\n", paged[0], paged[1], paged[2]);
  std::printf("identical: %s\n", identical ? "true" : "false");
  print_where_it_lies(block_table);
  return identical ? 0 : 1;
}
