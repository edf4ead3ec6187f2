// Launches what `./pagelab debug 6` and `./pagelab debug 7` stop in, with numbers that can be told by heart, to be
// looked at by stepped_lessons.gdb: rung 2 of the decode ladder, and the kernel of lesson 7's example.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "gpu/kernels/paged_decode/2_warp.cuh"
#include "lessons/07_tensor_cores/fragments.cuh"

using namespace pagelab;

namespace {

// Two requests of 3 and 2 keys in blocks of 2, with 4 query heads and one KV head of 32 elements. Query head h of
// request r is (r + 1) · (h + 1) · (0, 1, 2, …), and every key is (1, 1, 1, …): so is every value.
float lse_of_lesson_06() {
  constexpr std::int64_t kHeads = 4, kHeadSize = 32, kBlockSize = 2, kNumBlocks = 3;
  std::vector<float> query;
  for (int request = 0; request < 2; ++request) {
    for (int head = 0; head < kHeads; ++head) {
      for (int i = 0; i < kHeadSize; ++i) {
        query.push_back(static_cast<float>((request + 1) * (head + 1) * i));
      }
    }
  }
  const std::vector<std::int32_t> starts = {0, 1, 2}, seq_lens = {3, 2}, block_table = {2, 0, 1, 0};
  const std::vector<float> ones(kNumBlocks * kBlockSize * kHeadSize, 1.0f);
  std::vector<float> output(2 * kHeads * kHeadSize), lse(kHeads * 2);
  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = params.num_reqs = 2;
  params.num_query_heads = kHeads;
  params.num_kv_heads = 1;
  params.head_size = params.head_size_v = kHeadSize;
  params.query_start_loc = starts.data();
  params.seq_lens = seq_lens.data();
  params.block_table = block_table.data();
  params.max_blocks_per_req = 2;
  params.key_cache = params.value_cache = ones.data();
  params.key_strides = params.value_strides = {kBlockSize * kHeadSize, kHeadSize, kHeadSize};
  params.block_size = kBlockSize;
  params.k_scales = params.v_scales = ones.data();
  params.max_seq_len = 3;
  params.output = output.data();
  params.lse = lse.data();
  launch_paged_decode_warp<float, float>(params);
  return lse[0];  // of query head 0 and request 0: three keys of score 0 + 1 + … + 31, and ln 3
}

// Element (r, c) of the tile is 100 · r + c. Returns the last lane's last register of the first 16 columns.
std::uint32_t last_register_of_lesson_07() {
  alignas(16) std::uint16_t tile[16][64];
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 64; ++column) {
      tile[row][column] = static_cast<std::uint16_t>(100 * row + column);
    }
  }
  std::vector<std::uint32_t> registers(4 * 32 * 4);
  lesson_07::launch_fragments({&tile[0][0], registers.data(), true});
  return registers[31 * 4 + 3];
}

}  // namespace

int main() {
  std::printf("lse of lesson 6: %.4f\n", lse_of_lesson_06());
  const std::uint32_t pair = last_register_of_lesson_07();
  std::printf("last register of lesson 7: %u, %u\n", pair % 65536, pair / 65536);
}
