// Request boundaries, lengths, block table and slots: each message is provoked by one change to a
// valid step.
#include <doctest/doctest.h>

#include <limits>

#include "tests/reference/contract/refusal.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::int32_t kLargestInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kSmallestInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kLargestInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallestInt64 = std::numeric_limits<std::int64_t>::min();

// What validate says after a change to the batch alone.
template <typename Change>
std::string refusal_after_batch(const Change& change, StepUse use = StepUse::kStoreAndAttend) {
  return refusal_after([&](AttentionStep& step) { change(step.metadata); }, use);
}

using Batch = CommonAttentionMetadata;

// The plain step as an encoder_only one: sequences are the queries, and nothing needs a block.
void make_encoder_only(AttentionStep& step) {
  step.variant.attn_type = AttnType::kEncoderOnly;
  step.variant.visibility.causal = false;
  step.metadata.seq_lens = {2, 0, 5};
  step.metadata.block_table = BlockTable::unused(3, 0);
}

void make_encoder_decoder(AttentionStep& step) {
  step.variant.attn_type = AttnType::kEncoderDecoder;
  step.variant.visibility.causal = false;
}

}  // namespace

TEST_SUITE("validate boundaries") {
  TEST_CASE("query_start_loc has one entry more than there are requests") {
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.query_start_loc = {0, 2, 7};
          }) == "query_start_loc has 3 entries, but 3 requests (the length of seq_lens) need 4.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc = {}; }) ==
          "query_start_loc has 0 entries, but 3 requests (the length of seq_lens) need 4.");
  }

  TEST_CASE("query_start_loc starts at 0 and never falls and ends within the tokens") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc[0] = 1; }) ==
          "query_start_loc[0] is 1, but the first request must start at token 0.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc[2] = 1; }) ==
          "query_start_loc[2] is 1, below query_start_loc[1], which is 2.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc[2] = kSmallestInt32; }) ==
          "query_start_loc[2] is -2147483648, below query_start_loc[1], which is 2.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc[3] = 9; }) ==
          "query_start_loc[3] is 9, but query has only 8 tokens.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.query_start_loc[3] = kLargestInt32; }) ==
          "query_start_loc[3] is 2147483647, but query has only 8 tokens.");
  }

  TEST_CASE("a negative length is refused") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.seq_lens[1] = -1; }) ==
          "seq_lens[1] is -1, but a length is at least 0.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.seq_lens[1] = kSmallestInt32; }) ==
          "seq_lens[1] is -2147483648, but a length is at least 0.");
  }
}

TEST_SUITE("validate block table") {
  TEST_CASE("a block table of another shape is refused") {
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.block_table = BlockTable::from_rows({{6, 1}, {4}});
          }) == "block_table has 2 rows, but there are 3 requests (the length of seq_lens).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.entries.pop_back(); }) ==
          "block_table has shape [3, 3], but holds 8 entries.");
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.block_table.max_blocks_per_req = kLargestInt64;
          }) == "block_table has shape [3, 9223372036854775807], but holds 9 entries.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.max_blocks_per_req = -3; }) ==
          "block_table has shape [3, -3], but holds 9 entries.");
  }

  TEST_CASE(
      "K7: a length beyond the block table's capacity names request and length and capacity") {
    // Rows of 3 blocks of 4 tokens hold 12.
    CHECK(refusal_after_batch([](Batch& batch) { batch.seq_lens[1] = 13; }) ==
          "seq_lens[1] is 13, but request 1's row of the block table has a capacity of 12 tokens "
          "(3 blocks of 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.seq_lens[1] = kLargestInt32; }) ==
          "seq_lens[1] is 2147483647, but request 1's row of the block table has a capacity of 12 "
          "tokens (3 blocks of 4).");
  }

  TEST_CASE("K7: 33 tokens do not fit into two blocks of 16 - given at once or appended") {
    KvCacheSpec spec;
    spec.num_blocks = 4;
    spec.block_size = 16;
    spec.num_kv_heads = 1;
    spec.head_size = 1;
    spec.head_size_v = 1;
    Batch batch;
    batch.block_table = BlockTable::from_rows({{2, 0}});
    const char* message =
        "seq_lens[0] is 33, but request 0's row of the block table has a capacity of 32 tokens "
        "(2 blocks of 16).";
    // At once, no token stored.
    batch.query_start_loc = {0, 0};
    batch.seq_lens = {33};
    CHECK_THROWS_WITH_AS(validate(batch, AttnType::kDecoder, 0, spec, StepUse::kAttend), message,
                         Error);
    // 32 in the cache, one appended.
    batch.query_start_loc = {0, 1};
    batch.slot_mapping = {32};
    CHECK_THROWS_WITH_AS(validate(batch, AttnType::kDecoder, 1, spec, StepUse::kStoreAndAttend),
                         message, Error);
    batch.seq_lens = {32};
    batch.slot_mapping = {15};  // position 31: block 0, its last token
    CHECK_NOTHROW(validate(batch, AttnType::kDecoder, 1, spec, StepUse::kStoreAndAttend));
  }

  TEST_CASE("a block that the cache does not have is refused") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(2)[1] = 8; }) ==
          "block_table[2][1] is 8, but the cache has 8 blocks (request 2, positions 4 to 7, "
          "block_size 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(1)[0] = -7; }) ==
          "block_table[1][0] is -7, but the cache has 8 blocks (request 1, positions 0 to 2, "
          "block_size 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(0)[0] = kLargestInt32; }) ==
          "block_table[0][0] is 2147483647, but the cache has 8 blocks (request 0, positions 0 to "
          "3, block_size 4).");
  }

  TEST_CASE("an unused entry before the end of a sequence is refused") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(2)[2] = kNoBlock; }) ==
          "block_table[2][2] is -1 (no block), but request 2 needs it for positions 8 to 8 "
          "(seq_len 9, block_size 4).");
  }

  TEST_CASE("entries behind the end of a sequence may be anything") {
    for (std::int32_t entry : {0, 8, -7, kLargestInt32, kSmallestInt32}) {
      CHECK(refusal_after_batch([&](Batch& batch) {
              batch.block_table.row(0)[2] = entry;
              batch.block_table.row(1)[1] = entry;
              batch.block_table.row(1)[2] = entry;
            }) == "");
    }
  }

  TEST_CASE("two requests may read the same block and one request may have a block twice") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(1)[0] = 6; }) == "");
    // The first two blocks of request 2 have left its window: both are the null block.
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.query_start_loc = {0, 2, 2, 3};
            batch.block_table = BlockTable::from_rows({{6, 1}, {4}, {0, 0, 7}});
            batch.slot_mapping = {4, 5, 28, -1, -1, -1, -1, -1};
          }) == "");
  }
}

TEST_SUITE("validate slots") {
  TEST_CASE("the slot mapping has one entry a token") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping.pop_back(); }) ==
          "slot_mapping has 7 entries, but query has 8 tokens.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping = {}; }, StepUse::kAttend) ==
          "slot_mapping has 0 entries, but query has 8 tokens.");
  }

  TEST_CASE("a slot outside the cache is refused") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = 32; }) ==
          "slot_mapping[3] is 32, but the cache has 32 slots (8 blocks of 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = kLargestInt64; }) ==
          "slot_mapping[3] is 9223372036854775807, but the cache has 32 slots (8 blocks of 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = -2; }) ==
          "slot_mapping[3] is -2, but a slot is at least 0, or -1 to store nothing.");
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = kSmallestInt64; }) ==
          "slot_mapping[3] is -9223372036854775808, but a slot is at least 0, or -1 to store "
          "nothing.");
  }

  TEST_CASE("a slot of -1 inside the batch is legal and a slot for padding is not") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = kNoSlot; }) == "");
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[7] = 20; }) ==
          "slot_mapping[7] is 20, but token 7 is padding (the last request ends before token 7), "
          "and padding must have slot -1.");
  }

  TEST_CASE("a slot that disagrees with the block table is refused") {
    // Token 3 is query token 1 of request 2: position 9 − 5 + 1 = 5, in block_table[2][1] = 7, so
    // slot 7 · 4 + 1 = 29.
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping[3] = 20; }) ==
          "slot_mapping[3] is 20, but token 3 is position 5 of request 2, whose slot is 29 "
          "(block_table[2][1] is 7, block_size 4).");
    CHECK(refusal_after_batch([](Batch& batch) { batch.block_table.row(0)[1] = 2; }) ==
          "slot_mapping[0] is 4, but token 0 is position 4 of request 0, whose slot is 8 "
          "(block_table[0][1] is 2, block_size 4).");
  }

  TEST_CASE("two tokens in one slot are refused") {
    // Requests 0 and 2 get the same second block, and both store into it.
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.block_table.row(0)[1] = 7;
            batch.slot_mapping[0] = 28;
            batch.slot_mapping[1] = 29;
          }) == "slot_mapping[0] and slot_mapping[2] are both 28, but a slot holds one token.");
  }

  TEST_CASE("a query longer than its sequence is refused where tokens are stored") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.seq_lens[0] = 1; }) ==
          "seq_lens[0] is 1, but request 0 has 2 query tokens, and a step that stores tokens needs "
          "queries no longer than their sequences.");
    // Also where only another request's tokens are stored.
    CHECK(refusal_after_batch([](Batch& batch) {
            batch.seq_lens[0] = 1;
            batch.slot_mapping[0] = kNoSlot;
            batch.slot_mapping[1] = kNoSlot;
          }) ==
          "seq_lens[0] is 1, but request 0 has 2 query tokens, and a step that stores tokens needs "
          "queries no longer than their sequences.");
  }

  TEST_CASE("a query longer than its sequence is legal where nothing is stored") {
    const auto shorten = [](Batch& batch) { batch.seq_lens[0] = 1; };
    CHECK(refusal_after_batch(shorten, StepUse::kAttend) == "");
    CHECK(refusal_after_batch([&](Batch& batch) {
            shorten(batch);
            batch.slot_mapping.assign(8, kNoSlot);
          }) == "");
  }

  TEST_CASE("attending alone asks nothing of the slots but their number") {
    CHECK(refusal_after_batch([](Batch& batch) { batch.slot_mapping.assign(8, 999); },
                              StepUse::kAttend) == "");
  }
}

TEST_SUITE("validate encoders") {
  TEST_CASE("an encoder_only request needs no block but may store its tokens in any slot") {
    CHECK(refusal_after(make_encoder_only) == "");
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_only(step);
            step.metadata.slot_mapping = {31, 2, 17, -1, 5, 0, 9, -1};
          }) == "");
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_only(step);
            step.metadata.slot_mapping[0] = 32;
          }) == "slot_mapping[0] is 32, but the cache has 32 slots (8 blocks of 4).");
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_only(step);
            step.metadata.slot_mapping[0] = 5;
          }) == "slot_mapping[0] and slot_mapping[1] are both 5, but a slot holds one token.");
  }

  TEST_CASE("an encoder_only sequence is exactly its query") {
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_only(step);
            step.metadata.seq_lens[2] = 6;
          }) ==
          "seq_lens[2] is 6, but request 2 has 5 query tokens, and an encoder_only request attends "
          "over exactly these.");
  }

  TEST_CASE("cross attention reads the encoder's blocks whatever the query's length") {
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_decoder(step);
            step.metadata.seq_lens = {1, 0, 2};
          }) == "");
    CHECK(refusal_after([](AttentionStep& step) {
            make_encoder_decoder(step);
            step.metadata.block_table.row(0)[0] = 8;
          }) ==
          "block_table[0][0] is 8, but the cache has 8 blocks (request 0, positions 0 to 3, "
          "block_size 4).");
  }
}

TEST_SUITE("validate sizes") {
  TEST_CASE("cache sizes near the limits of the integers are refused before they overflow") {
    const AttentionStep step = plain_step();
    const auto refusal_of = [&](std::int64_t num_blocks, std::int64_t block_size) {
      KvCacheSpec spec = step.cache.spec();
      spec.num_blocks = num_blocks;
      spec.block_size = block_size;
      try {
        validate(step.metadata, AttnType::kDecoder, 8, spec, StepUse::kStoreAndAttend);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    CHECK(refusal_of(kLargestInt64, 4) ==
          "the cache has 9223372036854775807 blocks, but block ids are int32: 0 to 2147483647 "
          "blocks are possible.");
    CHECK(refusal_of(-1, 4) ==
          "the cache has -1 blocks, but block ids are int32: 0 to 2147483647 blocks are possible.");
    CHECK(refusal_of(8, 0) == "block_size is 0, but a block must hold 1 to 2147483647 tokens.");
    CHECK(refusal_of(8, kLargestInt64) ==
          "block_size is 9223372036854775807, but a block must hold 1 to 2147483647 tokens.");
    // The largest sizes that are legal: 2^62 slots, and the sums are still exact.
    CHECK(refusal_of(kLargestInt32, kLargestInt32) ==
          "slot_mapping[0] is 4, but token 0 is position 4 of request 0, whose slot is 12884901886 "
          "(block_table[0][0] is 6, block_size 2147483647).");
  }
}
