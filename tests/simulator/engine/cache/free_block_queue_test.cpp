#include "simulator/engine/cache/free_block_queue.h"

#include <doctest/doctest.h>

using namespace pagelab;

namespace {

using Blocks = std::vector<BlockId>;

}  // namespace

TEST_SUITE("the free block queue") {
  TEST_CASE("blocks come out in the order of their ids at first") {
    FreeBlockQueue queue(4);
    CHECK(queue.to_vector() == Blocks{0, 1, 2, 3});
    for (BlockId expected = 0; expected < 4; ++expected) CHECK(queue.pop_front() == expected);
    CHECK(queue.size() == 0);
    CHECK(queue.to_vector().empty());
  }

  TEST_CASE("a block taken from the middle leaves its neighbours joined") {
    FreeBlockQueue queue(5);
    queue.remove(2);
    CHECK_FALSE(queue.contains(2));
    CHECK(queue.to_vector() == Blocks{0, 1, 3, 4});
    queue.remove(0);  // the front
    queue.remove(4);  // the back
    CHECK(queue.to_vector() == Blocks{1, 3});
    CHECK(queue.size() == 2);
  }

  TEST_CASE("blocks given back in front keep their order and those at the back queue up") {
    FreeBlockQueue queue(5);
    for (int taken = 0; taken < 5; ++taken) queue.pop_front();
    queue.push_back(3);
    queue.push_front(Blocks{4, 1});
    queue.push_back(0);
    queue.push_front({});
    CHECK(queue.to_vector() == Blocks{4, 1, 3, 0});
    CHECK(queue.front() == 4);
    CHECK(queue.size() == 4);
  }
}
