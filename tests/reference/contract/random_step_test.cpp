// The steps that other tests are made of: poison where nothing may be read, and the same everywhere.
#include "tests/support/random_step.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/cases/attention_cases.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

enum class Contents { kNumbers, kPoison, kBoth };

// What one row of an array [rows, ...] holds.
Contents contents_of_row(const Tensor& array, std::int64_t row, std::int64_t rows) {
  const std::int64_t row_size = array.size() / rows;
  std::int64_t poisoned = 0;
  for (std::int64_t element = 0; element < row_size; ++element) {
    poisoned += std::isnan(array.value(row * row_size + element));
  }
  if (poisoned == 0) return Contents::kNumbers;
  return poisoned == row_size ? Contents::kPoison : Contents::kBoth;
}

// Slots that attention will read and that this step does not write.
std::set<std::int64_t> slots_with_context(const AttentionStep& step) {
  std::set<std::int64_t> slots;
  const std::int64_t block_size = step.cache.spec().block_size;
  for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
    if (step.cache.spec().num_blocks == 0) continue;
    for (std::int64_t position = 0; position < step.metadata.seq_lens[req_idx]; ++position) {
      slots.insert(slot_of(step.metadata.block_table.row(req_idx), position, block_size));
    }
  }
  for (std::int64_t slot : step.metadata.slot_mapping) slots.erase(slot);
  return slots;
}

}  // namespace

TEST_SUITE("random step") {
  TEST_CASE("the generator is the standard's and its numbers are a fixed map of its bits") {
    // std::mt19937_64 seeded with 5489 starts with 14514284786278117030 (C++ standard, rand.predef);
    // its upper 53 bits over 2^53 are 0.7868209548678020, its remainder by 7 is 1.
    CHECK(Random(5489).bits() == 14514284786278117030u);
    CHECK(Random(5489).real(0.0, 1.0) == doctest::Approx(0.7868209548678020).epsilon(1e-15));
    CHECK(Random(5489).whole(10, 16) == 11);
  }

  TEST_CASE("a permutation holds every number once and is not the identity") {
    Random random(3);
    const std::vector<std::int32_t> numbers = random.permutation(20);
    CHECK(std::set<std::int32_t>(numbers.begin(), numbers.end()).size() == 20);
    CHECK_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  }

  TEST_CASE("every slot is poison but those with context that this step does not write") {
    for (const AttentionCase& attention_case : attention_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = attention_case.step();
      const std::set<std::int64_t> context = slots_with_context(step);
      const Tensor keys = step.cache.keys();
      const Tensor values = step.cache.values();
      const std::int64_t num_slots = keys.shape()[0] * keys.shape()[1];
      for (std::int64_t slot = 0; slot < num_slots; ++slot) {
        const Contents wanted = context.contains(slot) ? Contents::kNumbers : Contents::kPoison;
        REQUIRE(contents_of_row(keys, slot, num_slots) == wanted);
        REQUIRE(contents_of_row(values, slot, num_slots) == wanted);
      }
    }
  }

  TEST_CASE("a token that is neither stored nor read is poison and every other one is not") {
    for (const AttentionCase& attention_case : attention_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = attention_case.step();
      const std::int64_t num_tokens = step.num_tokens();
      for (std::int64_t token_idx = 0; token_idx < num_tokens; ++token_idx) {
        const bool is_padding = token_idx >= step.metadata.num_actual_tokens();
        const bool is_stored = step.metadata.slot_mapping[token_idx] != kNoSlot;
        const bool is_read = step.variant.attn_type == AttnType::kEncoderOnly && !is_padding;
        const Contents kv = is_stored || is_read ? Contents::kNumbers : Contents::kPoison;
        const Contents query = is_padding ? Contents::kPoison : Contents::kNumbers;
        REQUIRE(contents_of_row(step.query, token_idx, num_tokens) == query);
        REQUIRE(contents_of_row(step.key, token_idx, num_tokens) == kv);
        REQUIRE(contents_of_row(step.value, token_idx, num_tokens) == kv);
      }
    }
  }

  TEST_CASE("a seed gives the same step again and another seed another one") {
    const RandomStepOptions options;
    CHECK(identical(random_step(options, 1).query, random_step(options, 1).query));
    CHECK_FALSE(identical(random_step(options, 1).query, random_step(options, 2).query));
  }

  TEST_CASE("a prefix is shared and unstored tokens occur where they are asked for") {
    RandomStepOptions options;
    options.requests = {{1, 10}, {1, 14}, {1, 3}};
    options.shared_prefix_blocks = 2;
    const BlockTable shared = random_step(options, 1).metadata.block_table;
    CHECK(shared.row(0)[0] == shared.row(1)[0]);
    CHECK(shared.row(0)[1] == shared.row(1)[1]);  // 9 tokens of context fill two blocks of 4
    CHECK(shared.row(0)[2] != shared.row(1)[2]);
    CHECK(shared.row(2)[0] != shared.row(0)[0]);  // 2 tokens of context fill none

    RandomStepOptions unstored;
    unstored.unstored_percent = 30;
    const std::vector<std::int64_t> slots = random_step(unstored, 1).metadata.slot_mapping;
    const std::int64_t skipped = std::count(slots.begin(), slots.end(), kNoSlot);
    CHECK(skipped > 0);
    CHECK(skipped < static_cast<std::int64_t>(slots.size()));
  }

  TEST_CASE("the table of cases has every dtype and layout and type of attention") {
    std::set<DType> dtypes, cache_dtypes;
    std::set<AttnType> types;
    std::set<std::string> layouts, names;
    for (const AttentionCase& attention_case : attention_cases()) {
      const AttentionStep step = attention_case.step();
      dtypes.insert(step.query.dtype());
      cache_dtypes.insert(step.cache.spec().dtype);
      types.insert(step.variant.attn_type);
      layouts.insert(to_string(step.cache.spec().layout));
      names.insert(attention_case.name);
    }
    CHECK(dtypes.size() == 4);
    CHECK(cache_dtypes.size() == 6);
    CHECK(types.size() == 3);
    CHECK(layouts.size() == 6);
    CHECK(names.size() == attention_cases().size());
  }
}
