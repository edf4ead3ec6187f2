#include "tests/reference/contract/plain_step.h"

namespace pagelab::test {

AttentionStep plain_step() {
  constexpr std::int64_t kNumTokens = 8, kNumQueryHeads = 4, kNumKvHeads = 2;
  constexpr std::int64_t kHeadSize = 3, kHeadSizeV = 5;

  AttentionStep step;
  step.query = Tensor(DType::kFloat32, {kNumTokens, kNumQueryHeads, kHeadSize});
  step.key = Tensor(DType::kFloat32, {kNumTokens, kNumKvHeads, kHeadSize});
  step.value = Tensor(DType::kFloat32, {kNumTokens, kNumKvHeads, kHeadSizeV});
  step.metadata.query_start_loc = {0, 2, 2, 7};
  step.metadata.seq_lens = {6, 3, 9};
  step.metadata.block_table = BlockTable::from_rows({{6, 1}, {4}, {3, 7, 0}});
  step.metadata.slot_mapping = {4, 5, 28, 29, 30, 31, 0, kNoSlot};
  step.variant.scale = 0.5;

  KvCacheSpec spec;
  spec.num_blocks = 8;
  spec.block_size = 4;
  spec.num_kv_heads = kNumKvHeads;
  spec.head_size = kHeadSize;
  spec.head_size_v = kHeadSizeV;
  step.cache = KvCache(spec);
  step.cache.assign(Tensor(DType::kFloat32, {8, 4, kNumKvHeads, kHeadSize}),
                    Tensor(DType::kFloat32, {8, 4, kNumKvHeads, kHeadSizeV}));
  return step;
}

}  // namespace pagelab::test
