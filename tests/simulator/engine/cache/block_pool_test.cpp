#include "simulator/engine/cache/block_pool.h"

#include <doctest/doctest.h>

#include "reference/contract/error.h"

using namespace pagelab;

namespace {

using Blocks = std::vector<BlockId>;

Blocks take(BlockPool& pool, std::int32_t num_blocks) {
  Blocks taken;
  pool.get_new_blocks(num_blocks, taken);
  return taken;
}

}  // namespace

TEST_SUITE("the block pool") {
  TEST_CASE("the null block is never handed out and does not count") {
    BlockPool pool(4, 1, true);
    CHECK(pool.num_free_blocks() == 3);
    CHECK(pool.usage() == 0.0);
    CHECK(take(pool, 3) == Blocks{1, 2, 3});
    CHECK(pool.usage() == 1.0);
    pool.free_blocks(Blocks{kNullBlock, kNullBlock});
    pool.cache_block(kNullBlock, 0, 0);
    CHECK(pool.num_free_blocks() == 0);
    CHECK(pool.num_cached_keys() == 0);
  }

  TEST_CASE("a pool of 0 or 1 blocks is refused because the null block takes one") {
    for (const std::int32_t num_blocks : {-1, 0, 1}) {
      const std::string sentence = "num_blocks is " + std::to_string(num_blocks) +
                                   "; it must be at least 2, because the null block takes one.";
      CHECK_THROWS_WITH_AS(BlockPool(num_blocks, 1, true), sentence.c_str(), Error);
    }
  }

  TEST_CASE("more blocks than are free are refused and nothing is taken") {
    BlockPool pool(4, 1, true);
    CHECK_THROWS_WITH_AS(take(pool, 4), "4 blocks are wanted, but only 3 of the pool's 3 are free.",
                         Error);
    CHECK(pool.num_free_blocks() == 3);
  }

  TEST_CASE("blocks without a key go to the front in order and those with one to the back") {
    BlockPool pool(7, 1, true);
    const Blocks taken = take(pool, 4);  // 1 2 3 4; 5 6 stay
    pool.cache_block(1, 0, 0);
    pool.cache_block(3, 1, 0);
    pool.free_blocks(taken);
    CHECK(pool.free_queue().to_vector() == Blocks{2, 4, 5, 6, 1, 3});
    // Without caching no block is worth keeping.
    BlockPool uncached(7, 1, false);
    uncached.free_blocks_tail_first(take(uncached, 4));
    CHECK(uncached.free_queue().to_vector() == Blocks{4, 3, 2, 1, 5, 6});
  }

  TEST_CASE("a hit finds the first block of a key that is still there") {
    BlockPool pool(6, 2, true);
    take(pool, 4);
    for (const BlockId block : {3, 1, 4}) pool.cache_block(block, 7, 0);
    pool.cache_block(2, 7, 1);  // the same prefix, another group: another key
    CHECK(pool.num_cached_keys() == 2);
    CHECK(pool.get_cached_block(7, 0) == 3);
    CHECK(pool.get_cached_block(7, 1) == 2);
    CHECK(pool.get_cached_block(6, 0) == kNoBlock);
    CHECK(pool.get_cached_block(1000, 0) == kNoBlock);
    pool.evict_blocks(Blocks{1});
    CHECK(pool.get_cached_block(7, 0) == 3);
    pool.evict_blocks(Blocks{3});
    CHECK(pool.get_cached_block(7, 0) == 4);
    pool.evict_blocks(Blocks{4, 4});
    CHECK(pool.get_cached_block(7, 0) == kNoBlock);
    CHECK(pool.num_cached_keys() == 1);
    CHECK_THROWS_WITH_AS(pool.evict_blocks(Blocks{2, 6}),
                         "there is no block 6 to evict; the pool has blocks 0 to 5.", Error);
    CHECK(pool.get_cached_block(7, 1) == 2);  // nothing was evicted
  }

  TEST_CASE("a touched free block leaves the queue and is used once more") {
    BlockPool pool(5, 1, true);
    pool.free_blocks(take(pool, 2));
    pool.touch(2);
    CHECK(pool.free_queue().to_vector() == Blocks{1, 3, 4});
    pool.touch(2);
    CHECK(pool.block(2).ref_cnt == 2);
    CHECK(pool.num_free_blocks() == 3);
  }

  TEST_CASE("the cache map is only reset while no block is used") {
    BlockPool pool(4, 1, true);
    const Blocks taken = take(pool, 2);
    pool.cache_block(1, 0, 0);
    CHECK_FALSE(pool.reset_prefix_cache());
    CHECK(pool.get_cached_block(0, 0) == 1);
    pool.free_blocks_tail_first(taken);
    const Blocks before = pool.free_queue().to_vector();
    CHECK(pool.reset_prefix_cache());
    CHECK(pool.get_cached_block(0, 0) == kNoBlock);
    CHECK(pool.num_cached_keys() == 0);
    CHECK(pool.free_queue().to_vector() == before);
  }

  TEST_CASE("a pool is shown with its queue and users and keys") {
    BlockPool pool(6, 1, true);
    const Blocks taken = take(pool, 4);
    for (const BlockId block : {1, 3}) pool.cache_block(block, block, 0);
    pool.touch(1);
    pool.free_blocks(Blocks{2, 3});
    CHECK(to_string(pool) == "free [2 5 3*]; used [1*x2 4]");
  }

  TEST_CASE("E4: evicting clears index and block in one step") {
    BlockPool pool(3, 1, true);
    const PrefixId p = 0, q = 1;
    const Blocks first = take(pool, 2);
    pool.cache_block(first[0], p, 0);
    pool.free_blocks(first);
    const Blocks reused = take(pool, 2);
    CHECK(pool.get_cached_block(p, 0) == kNoBlock);
    for (const BlockId block : reused) CHECK(pool.block(block).prefix == kNoPrefix);
    pool.cache_block(first[0], q, 0);
    CHECK(pool.block(first[0]).prefix == q);
    CHECK(pool.get_cached_block(p, 0) == kNoBlock);
  }

  TEST_CASE(
      "E5: a block freed twice enters the queue once if it had two users and is refused if one") {
    BlockPool pool(4, 1, true);
    const BlockId block = take(pool, 1)[0];
    pool.touch(block);
    pool.free_blocks(Blocks{block, block});
    CHECK(pool.free_queue().to_vector() == Blocks{1, 2, 3});
    const BlockId other = take(pool, 2)[1];
    CHECK_THROWS_WITH_AS(pool.free_blocks(Blocks{1, other, other}),
                         "block 2 is freed more often than it is used; its users: 1.", Error);
    // Nothing was lost: both are still used once.
    CHECK(pool.block(1).ref_cnt == 1);
    CHECK(pool.block(other).ref_cnt == 1);
    CHECK(pool.num_free_blocks() == 1);
  }
}
