// Judges an answer to the exercise of lesson 11. Keys are judged by what they have to tell apart: those of two
// blocks must be equal where everything up to their ends is equal, and nowhere else. Pools are pagelab's own
// (BlockPool), after random operations; it does the same as the answer, and must be left in the same state.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lessons/11_block_manager_and_prefix_caching/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"
#include "simulator/engine/cache/block_pool.h"

namespace pagelab::lesson_11 {
namespace {

using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

/// A request as the cache sees it.
struct Prompt {
  std::vector<int> tokens;
  std::string salt;
};

std::string describe(const Prompt& prompt) {
  return show(prompt.tokens) + (prompt.salt.empty() ? "" : " of salt " + prompt.salt);
}

/// Two prompts, and what to think of if they do not get the right keys.
struct PromptPair {
  Prompt a, b;
  const char* hint;
};

void judge_keys(TaskCheck& task, const PromptPair& pair, int block_size) {
  const std::size_t size = pair.a.tokens.size() + pair.b.tokens.size();
  task.input(
      static_cast<std::int64_t>(size),
      "a " + describe(pair.a) + ", b " + describe(pair.b) + ", block_size " + show(block_size),
      pair.hint);
  const auto keys_of = [&](const Prompt& prompt) {
    const std::vector<Key> keys = kAnswer.block_keys(prompt.tokens, block_size, prompt.salt);
    task.expect_equal("full blocks:", static_cast<int>(keys.size()),
                      static_cast<int>(prompt.tokens.size()) / block_size);
    return keys;
  };
  const std::vector<Key> a = keys_of(pair.a), b = keys_of(pair.b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto begin = pair.a.tokens.begin();
      const bool is_same_prefix =
          i == j && pair.a.salt == pair.b.salt &&
          std::equal(begin, begin + (i + 1) * block_size, pair.b.tokens.begin());
      const std::string both = "of block " + show(static_cast<int>(i)) + " of a and block " +
                               show(static_cast<int>(j)) + " of b";
      task.expect((a[i] == b[j]) == is_same_prefix,
                  std::string(is_same_prefix ? "one key " : "different keys ") + both,
                  a[i] == b[j] ? "one key" : "different keys");
    }
  }
}

void check_block_keys(TaskCheck& task) {
  const char* const of_full =
      "A block that is not full will hold other tokens, too: it has no key yet.";
  const char* const of_chain =
      "These blocks hold the same tokens behind other ones. What a layer computes of a token "
      "depends "
      "on all tokens before it, so their keys and values differ.";
  const char* const of_equal =
      "Everything up to the end of the block is equal, so is what it holds.";
  const char* const of_salt = "What goes into block 0 goes into every key that is chained to it.";
  const std::vector<PromptPair> pairs = {
      {{{5}, ""}, {{5, 6}, ""}, of_full},
      {{{1, 2}, ""}, {{1, 2}, "x"}, of_salt},
      {{{1, 2}, ""}, {{1, 2, 1, 2}, ""}, of_chain},
      {{{1, 2, 7, 8}, ""}, {{3, 4, 7, 8}, ""}, of_chain},
      {{{1, 2, 3, 4}, ""}, {{1, 2, 3, 4}, ""}, of_equal},
      {{{1, 2, 3, 4, 5}, ""}, {{1, 2, 3, 4}, ""}, of_full},
      {{{1, 2, 3, 4, 5}, "x"}, {{1, 2, 3, 4, 5}, "y"}, of_salt},
      {{{1, 2, 3, 4, 5, 6}, ""}, {{1, 2, 9, 9, 5, 6}, ""}, of_chain},
      {{{1, 2, 3, 4, 5, 6, 7}, "x"}, {{1, 2, 3, 4, 5, 6}, "x"}, of_equal}};
  for (const PromptPair& pair : pairs) judge_keys(task, pair, 2);
  judge_keys(task, {{{1, 2, 3, 4, 5, 6, 7}, ""}, {{1, 2, 3, 4, 5, 6, 8}, ""}, of_equal}, 3);
}

std::string describe(const Pool& pool) {
  std::string text = "queue [";
  const auto add = [&](int block) {
    if (text.back() != '[') text += " ";
    text += show(block) + (pool.keys[block] == kNoKey ? "" : "*");
  };
  for (const int block : pool.free_queue) add(block);
  text += "], used [";
  for (std::size_t block = 1; block < pool.ref_cnt.size(); ++block) {
    if (pool.ref_cnt[block] == 0) continue;
    add(static_cast<int>(block));
    if (pool.ref_cnt[block] > 1) text += "x" + show(pool.ref_cnt[block]);
  }
  text += "], cache map [";
  for (const auto& [key, block] : pool.cache_map) {
    text += (text.back() == '[' ? "" : " ") + std::to_string(key) + ":" + show(block);
  }
  return text + "]";
}

const char* const kLegend = " (*: has a key; x2: of two users)";

/// pagelab's pool in the exercise's terms. Prefix p has the key p + 1.
Pool copy_of(const BlockPool& pool) {
  Pool copy;
  for (BlockId id = 0; id < pool.num_blocks(); ++id) {
    const KVCacheBlock& block = pool.block(id);
    copy.ref_cnt.push_back(block.ref_cnt);
    copy.keys.push_back(block.prefix == kNoPrefix ? kNoKey : static_cast<Key>(block.prefix) + 1);
    if (copy.keys.back() != kNoKey) copy.cache_map[copy.keys.back()] = id;
  }
  const std::vector<BlockId> queue = pool.free_queue().to_vector();
  copy.free_queue.assign(queue.begin(), queue.end());
  return copy;
}

/// A pool that has served requests, and the tables of those that still run.
struct Served {
  explicit Served(int num_blocks) : pool(num_blocks, 1, true) {}

  /// A request of so many blocks, the first of which are full.
  void serve(int num_blocks, int num_full) {
    tables.emplace_back();
    pool.get_new_blocks(num_blocks, tables.back());
    for (int block = 0; block < num_full; ++block) {
      pool.cache_block(tables.back()[block], next_prefix++, 0);
    }
  }
  void finish(std::size_t table) {
    pool.free_blocks_tail_first(tables[table]);
    tables.erase(tables.begin() + table);
  }
  /// A request that shares the first blocks of another one.
  void share(std::size_t table, int num_blocks) {
    std::vector<BlockId> shared(tables[table].begin(), tables[table].begin() + num_blocks);
    for (const BlockId id : shared) pool.touch(id);
    tables.push_back(shared);
  }

  BlockPool pool;
  std::vector<std::vector<BlockId>> tables;
  PrefixId next_prefix = 0;
};

Served random_served(int seed, int num_blocks) {
  RandomData random(seed);
  Served served(num_blocks);
  for (int step = 0; step < 12; ++step) {
    const int num_free = served.pool.num_free_blocks();
    const int num_tables = static_cast<int>(served.tables.size());
    const int what = random.integer(0, 2);
    if (what == 0 && num_tables > 1) served.finish(random.integer(0, num_tables - 1));
    if (what == 1 && num_tables > 0) {
      const std::size_t table = random.integer(0, num_tables - 1);
      const int table_len = static_cast<int>(served.tables[table].size());
      served.share(table, random.integer(1, table_len));
    }
    if (what == 2 && num_free > 0) {
      const int wanted = random.integer(1, std::min(4, num_free));
      served.serve(wanted, random.integer(0, wanted));
    }
  }
  if (served.tables.empty()) served.serve(1, 1);
  return served;
}

constexpr int kSeeds = 40;

/// The smallest pools first.
int num_blocks_for(int seed) { return 4 + seed / 4; }

std::string origin(int seed) { return ", random with seed " + show(seed); }

void check_find_hit(TaskCheck& task) {
  const std::string hint_last =
      "Of the last token somebody wants the output, which is in no cache: at least that one is "
      "computed. With whole blocks it is the last block, and only if the prompt ends with it.";
  const std::string hint =
      "Block after block, up to the first whose key is not in the map: what comes behind a gap is "
      "no "
      "prefix. Whether anybody uses a block does not matter.";
  for (int num_tokens = 1; num_tokens <= 14; ++num_tokens) {
    for (int num_missing = 0; num_missing <= 3; ++num_missing) {
      RandomData random(100 * num_tokens + num_missing);
      const int block_size = random.integer(1, 4);
      const int num_full = num_tokens / block_size;
      Pool pool = {std::vector<int>(num_full + 4), std::vector<Key>(num_full + 4), {}, {}};
      const std::vector<int> blocks = random.distinct(num_full, num_full + 3);
      std::vector<Key> keys;
      for (int i = 0; i < num_full; ++i) {
        keys.push_back(i + 11);
        const int block = blocks[i] + 1;
        pool.ref_cnt[block] = random.integer(0, 2);
        if (pool.ref_cnt[block] == 0) pool.free_queue.push_back(block);
      }
      const std::set<int> missing = [&] {
        std::set<int> chosen;
        for (int i = 0; i < num_missing; ++i) chosen.insert(random.integer(0, num_full));
        return chosen;
      }();
      std::vector<int> expected;
      bool is_prefix = true;
      for (int i = 0; i < num_full; ++i) {
        if (missing.contains(i)) {
          is_prefix = false;
          continue;
        }
        pool.keys[blocks[i] + 1] = keys[i];
        pool.cache_map[keys[i]] = blocks[i] + 1;
        if (is_prefix) expected.push_back(blocks[i] + 1);
      }
      const bool is_all = static_cast<int>(expected.size()) * block_size == num_tokens;
      if (is_all) expected.pop_back();
      task.input(num_tokens,
                 "num_tokens " + show(num_tokens) + ", block_size " + show(block_size) +
                     ", keys from 11 on, " + describe(pool),
                 is_all ? hint_last : hint);
      task.expect_equal("blocks", kAnswer.find_hit(pool, keys, num_tokens, block_size), expected);
    }
  }
}

using Blocks = std::optional<std::vector<int>>;

std::string describe(const Blocks& blocks) { return blocks ? "blocks " + show(*blocks) : "none"; }

void expect_pool(TaskCheck& task, const Pool& got, const Pool& expected) {
  task.expect(got == expected, describe(expected), describe(got));
}

void check_take(TaskCheck& task) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    Served served = random_served(seed, num_blocks_for(seed));
    const Pool before = copy_of(served.pool);
    const int num_free = served.pool.num_free_blocks();
    for (const int wanted : {num_free + 1, num_free / 2, num_free}) {
      if (wanted == 0) continue;
      Pool pool = before;
      task.input(num_blocks_for(seed),
                 "num_blocks " + show(wanted) + ", " + describe(before) + kLegend + origin(seed),
                 wanted > num_free
                     ? "If it cannot have all, it gets none, and the pool is as it was."
                     : "From the front. A taken block will hold something else: the map must not "
                       "lead to it, and it must not say that it holds what it held.");
      const Blocks got = kAnswer.take(pool, wanted);
      Blocks expected;
      BlockPool right = served.pool;
      if (wanted <= num_free) right.get_new_blocks(wanted, expected.emplace());
      task.expect(got == expected, describe(expected), describe(got));
      expect_pool(task, pool, copy_of(right));
    }
  }
}

void check_release(TaskCheck& task) {
  const auto judge = [&task](int size, const Served& served, std::size_t table,
                             const std::string& from) {
    Pool pool = copy_of(served.pool);
    task.input(
        size, "table " + show(served.tables[table]) + ", " + describe(pool) + kLegend + from,
        "Who still has a user is not free. Of the others, those without a key go to the front as "
        "a group and those with one to the back, both with the tail of the table first. Keys "
        "and map stay: a free block can be hit until it is taken.");
    kAnswer.release(pool, served.tables[table]);
    BlockPool right = served.pool;
    right.free_blocks_tail_first(served.tables[table]);
    expect_pool(task, pool, copy_of(right));
  };
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Served served = random_served(seed, num_blocks_for(seed));
    for (std::size_t table = 0; table < served.tables.size(); ++table) {
      judge(num_blocks_for(seed), served, table, origin(seed));
    }
  }
  // A prompt of two full blocks and two that are not: one half full, one for tokens that were only guessed.
  Served served(num_blocks_for(kSeeds));
  served.serve(4, 2);
  judge(num_blocks_for(kSeeds), served, 0, "");
}

void check_admit(TaskCheck& task) {
  const char* const hint_few =
      "A hit that nobody uses lies in the queue, and leaves it: it counts like a block that is "
      "taken. If "
      "there are too few, nothing changes.";
  const char* const hint =
      "First the hits: one user more each, and out of the queue if nobody used them. Then take the "
      "rest: "
      "the other way round, a hit might be what is taken.";
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Served served = random_served(seed, num_blocks_for(seed));
    RandomData random(seed);
    // Any cached blocks: to the pool it is all one whose they were.
    std::vector<int> hit;
    for (BlockId id = 1; id < served.pool.num_blocks(); ++id) {
      const bool is_cached = served.pool.block(id).prefix != kNoPrefix;
      if (is_cached && random.integer(0, 2) > 0) hit.push_back(id);
    }
    const int num_hits = static_cast<int>(hit.size());
    const auto num_free_hits = std::ranges::count_if(
        hit, [&](int block) { return served.pool.block(block).ref_cnt == 0; });
    const int most_new = served.pool.num_free_blocks() - static_cast<int>(num_free_hits);
    for (const int num_new : {most_new + 1, most_new, most_new / 2}) {
      Pool pool = copy_of(served.pool);
      task.input(num_blocks_for(seed),
                 "hit " + show(hit) + ", num_blocks " + show(num_hits + num_new) + ", " +
                     describe(pool) + kLegend + origin(seed),
                 num_new > most_new ? hint_few : hint);
      const Blocks got = kAnswer.admit(pool, hit, num_hits + num_new);
      Blocks expected;
      BlockPool right = served.pool;
      if (num_new <= most_new) {
        expected = hit;
        for (const int block : hit) right.touch(block);
        right.get_new_blocks(num_new, *expected);
      }
      task.expect(got == expected, describe(expected), describe(got));
      expect_pool(task, pool, copy_of(right));
    }
  }
}

}  // namespace
}  // namespace pagelab::lesson_11

int main(int argc, char** argv) {
  using namespace pagelab::lesson_11;
  pagelab::lessons::Checker checker("11", "block manager and prefix caching", kAnswer.path);
  checker.add_task("block_keys", check_block_keys);
  checker.add_task("find_hit", check_find_hit);
  checker.add_task("take", check_take);
  checker.add_task("release", check_release);
  checker.add_task("admit", check_admit);
  return checker.run(argc, argv);
}
