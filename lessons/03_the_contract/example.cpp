// Lesson 03: a batch of three requests (a decode, a chunk of a long prompt, a new prompt) as the arrays
// that every paged kernel gets, and what validate says when they contradict each other.

#include <cstdio>
#include <functional>

#include "reference/cache/slot_mapping.h"
#include "reference/contract/validate.h"

using namespace pagelab;

constexpr std::int64_t kNumTokens = 12;  // 9 of the requests, 3 of padding
const KvCacheSpec kPool = {.num_blocks = 10,
                           .block_size = 4,
                           .num_kv_heads = 1,
                           .head_size = 3,
                           .head_size_v = 3,
                           .dtype = DType::kFloat64,
                           .layout = {}};

CommonAttentionMetadata make_batch() {
  CommonAttentionMetadata batch;
  batch.query_start_loc = {0, 1, 6, 9};    // 1, 5 and 3 new tokens
  batch.seq_lens = {9 + 1, 4 + 5, 0 + 3};  // computed + new
  batch.block_table = BlockTable::from_rows({{6, 1, 4}, {2, 8, 5}, {7}});
  batch.slot_mapping = slot_mapping_of(batch.block_table, batch.query_start_loc, batch.seq_lens,
                                       kPool.block_size, kNumTokens);
  return batch;
}

void print_tokens(const CommonAttentionMetadata& batch) {
  const std::vector<std::int64_t> positions = positions_of(batch.query_start_loc, batch.seq_lens);
  std::printf("token  request  position  slot\n");
  for (std::int64_t req_idx = 0; req_idx < batch.num_reqs(); ++req_idx) {
    const std::int64_t end = batch.query_start_loc[req_idx + 1];
    for (std::int64_t token_idx = batch.query_start_loc[req_idx]; token_idx < end; ++token_idx) {
      std::printf("%5ld  %7ld  %8ld  %4ld\n", token_idx, req_idx, positions[token_idx],
                  batch.slot_mapping[token_idx]);
    }
  }
  for (std::int64_t token_idx = batch.num_actual_tokens(); token_idx < kNumTokens; ++token_idx) {
    std::printf("%5ld  padding            %4ld\n", token_idx, batch.slot_mapping[token_idx]);
  }
}

// What validate says about the batch after one change to it.
void print_verdict(const char* change, const std::function<void(CommonAttentionMetadata&)>& apply) {
  CommonAttentionMetadata batch = make_batch();
  apply(batch);
  std::printf("\n%s\n", change);
  try {
    validate(batch, AttnType::kDecoder, kNumTokens, kPool, StepUse::kStoreAndAttend);
    std::printf("  is fine.\n");
  } catch (const Error& error) {
    std::printf("  %s\n", error.what());
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  print_tokens(make_batch());
  print_verdict("the batch as it is", [](auto&) {});
  print_verdict("query_start_loc[2] = 0", [](auto& batch) { batch.query_start_loc[2] = 0; });
  print_verdict("seq_lens[2] = 2", [](auto& batch) { batch.seq_lens[2] = 2; });
  print_verdict("seq_lens[1] = 13", [](auto& batch) { batch.seq_lens[1] = 13; });
  print_verdict("block_table[0][2] = 10", [](auto& batch) { batch.block_table.row(0)[2] = 10; });
  print_verdict("slot_mapping[0] = 18", [](auto& batch) { batch.slot_mapping[0] = 18; });
  print_verdict("slot_mapping[0] = -1", [](auto& batch) { batch.slot_mapping[0] = kNoSlot; });
  print_verdict("slot_mapping[9] = 0", [](auto& batch) { batch.slot_mapping[9] = 0; });
  print_verdict("request 2 gets block 8 instead of 7, and its slots follow", [](auto& batch) {
    batch.block_table.row(2)[0] = 8;
    for (int i = 0; i < 3; ++i) batch.slot_mapping[6 + i] = 8 * kPool.block_size + i;
  });
}
