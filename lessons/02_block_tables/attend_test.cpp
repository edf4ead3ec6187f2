#include "lessons/02_block_tables/attend.h"

#include <doctest/doctest.h>

using namespace pagelab::lesson_02;

TEST_SUITE("lesson 02") {
  TEST_CASE(
      "the example's output is that of the same program in another language to the last bit") {
    const Row query = {0.3, -1.1, 0.7};
    Rows keys(10, Row(3));
    Rows values(10, Row(3));
    for (int i = 0; i < 10; ++i) {
      for (int d = 0; d < 3; ++d) keys[i][d] = std::sin(3 * i + d);
      for (int d = 0; d < 3; ++d) values[i][d] = std::cos(5 * i + 2 * d);
    }
    // Computed in CPython; 40-digit arithmetic rounds to the same six decimals.
    CHECK(attend(query, keys, values) ==
          Row{-0.007548616630670385, 0.0035066651365233403, 0.0046300414238816812});
  }
}
