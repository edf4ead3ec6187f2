// Lesson 09: what FLASHINFER's class says of its cache, where one key lies under two layouts, what its builder
// makes of the batch of lesson 03, and one layer's impl, run under both layouts.

#include <cstdio>
#include <cstring>

#include "lessons/09_what_a_backend_provides/one_layer.h"
#include "lessons/09_what_a_backend_provides/solution.h"
#include "reference/registry/catalogue/rows.h"

using namespace pagelab;
using namespace pagelab::lesson_09;

const KvCacheSpec kNhd = {10, 4, 2, 3, 3, DType::kFloat64, {KvOrder::kNHD, KvPacking::kOneRow}};
const KvCacheSpec kHnd = {10, 4, 2, 3, 3, DType::kFloat64, {KvOrder::kHND, KvPacking::kOneRow}};

void print_class(const BackendFacts& facts) {
  const KvPage& page = *facts.kv_page;
  std::printf("1. The class of %s says\n", facts.name.data());
  std::printf("   a cache is    [%s, %s, %s, %s]\n", page.blocks.data(), page.heads.data(),
              page.states.data(), page.content.data());
  std::printf("   layouts       any; on 10.x");
  for (const std::string_view layout : facts.kv_cache_layouts_on_10) {
    std::printf(" %s", layout.data());
  }
  std::printf("\n   a decode has  %d query token\n", *facts.reorder_batch_threshold.class_value);
}

void print_layout(const char* name, const std::string& layout, const CacheShape& shape) {
  const CacheStrides to = strides_of(layout, 1, shape);
  // Position 9 of request 0 is the second token of block 4; of its two heads take the second.
  const std::int64_t element = 4 * to.block + 1 * to.head + 1 * to.state;
  std::printf("   %s, %s: strides B %ld, H %ld, N %ld, C %ld; that key at element %ld\n", name,
              layout.c_str(), to.block, to.head, to.state, to.content, element);
}

void print_numbers(const char* name, const std::vector<std::int32_t>& numbers) {
  std::printf("   %-23s", name);
  for (const std::int32_t number : numbers) std::printf(" %d", number);
  std::printf("\n");
}

const char* same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.bytes(), b.bytes(), a.size_in_bytes()) == 0 ? "true" : "false";
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  CommonAttentionMetadata batch;  // of lesson 03
  batch.query_start_loc = {0, 1, 6, 9};
  batch.seq_lens = {10, 9, 3};
  batch.block_table = BlockTable::from_rows({{6, 1, 4}, {2, 8, 5}, {7}});
  batch.slot_mapping = {17, 32, 33, 34, 35, 20, 28, 29, 30};

  print_class(catalogue::flashinfer());
  const CacheShape shape = kv_cache_shape({2, 3, 3}, kNhd.num_blocks, kNhd.block_size);
  std::printf("2. A cache, [%ld, %ld, %ld, %ld], and the key of position 9 of request 0, head 1\n",
              shape.num_blocks, shape.heads, shape.states, shape.content);
  print_layout("NHD", "LBNHC", shape);
  print_layout("HND", "LBHNC", shape);

  const FlashInferMetadata metadata = build(batch, kNhd.block_size);
  std::printf("3. The builder: decodes %ld, prefills %ld\n", metadata.split.num_decodes,
              metadata.split.num_prefills);
  print_numbers("paged_kv_indptr", metadata.paged_kv_indptr);
  print_numbers("paged_kv_indices", metadata.paged_kv_indices);
  print_numbers("paged_kv_last_page_len", metadata.paged_kv_last_page_len);
  print_numbers("qo_indptr", metadata.qo_indptr);

  const LayerResult nhd = run_layer(kNhd, batch), hnd = run_layer(kHnd, batch);
  std::printf("4. The impl, under NHD and HND\n   same memory: %s\n   same output: %s\n",
              same_bytes(nhd.memory, hnd.memory), same_bytes(nhd.output, hnd.output));
}
