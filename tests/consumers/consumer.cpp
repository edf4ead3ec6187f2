// What a user of the library might write: one block table, and where a position lies.

#include <cstdio>

#include "reference/cache/block_table.h"
#include "reference/tensor/tensor.h"

int main() {
  const pagelab::BlockTable table = pagelab::BlockTable::from_rows({{6, 1, 4}});
  const pagelab::Tensor tensor(pagelab::DType::kBFloat16, {2, 3});
  const std::int64_t slot = pagelab::slot_of(table.row(0), /*position=*/9, /*block_size=*/4);
  std::printf("position 9 is in slot %lld\n", static_cast<long long>(slot));
  std::printf("a tensor of %lld bytes\n", static_cast<long long>(tensor.size_in_bytes()));
  // Block 4 holds positions 8 to 11: slot 4 · 4 + 1. Six elements of two bytes.
  return slot == 17 && tensor.size_in_bytes() == 12 ? 0 : 1;
}
