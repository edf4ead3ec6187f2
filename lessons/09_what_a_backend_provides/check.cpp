// Judges an answer to the exercise of lesson 09. Strides are expected as one finds them by walking through
// the memory element by element, and for NHD and HND as pagelab's own cache has them; splits are vLLM's,
// lines of the table that reorder.jsonl is; pages are counted off token by token.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lessons/09_what_a_backend_provides/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"
#include "reference/cache/kv_cache.h"

namespace pagelab::lesson_09 {
namespace {

using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

std::string to_string(const CacheShape& shape) {
  return "[" + show(shape.num_blocks) + ", " + show(shape.heads) + ", " + show(shape.states) +
         ", " + show(shape.content) + "]";
}

std::string to_string(const CacheStrides& strides) {
  return "layer " + show(strides.layer) + ", block " + show(strides.block) + ", head " +
         show(strides.head) + ", state " + show(strides.state) + ", content " +
         show(strides.content);
}

std::string to_string(const BatchSplit& split) {
  return show(split.num_decodes) + " decodes of " + show(split.num_decode_tokens) + " tokens, " +
         show(split.num_prefills) + " prefills of " + show(split.num_prefill_tokens);
}

/// A layer whose shape is known.
struct ShapeCase {
  std::string origin;
  LayerSpec layer;
  std::int64_t num_blocks;
  std::int64_t block_size;
  CacheShape expected;
};

void check_kv_cache_shape(TaskCheck& task) {
  const std::vector<ShapeCase> cases = {
      {"the README's layer", {2, 3, 3, false}, 10, 4, {10, 2, 4, 6}},
      {"Llama-3-8B", {8, 128, 128, false}, 1000, 16, {1000, 8, 16, 256}},
      {"values narrower than keys", {5, 192, 128, false}, 7, 32, {7, 5, 32, 320}},
      {"DeepSeek-V3, a latent row of 576 elements", {1, 576, 512, true}, 9, 64, {9, 1, 64, 576}},
      {"a latent layer of many heads", {16, 320, 256, true}, 9, 64, {9, 1, 64, 320}}};
  for (const ShapeCase& shape_case : cases) {
    const LayerSpec& layer = shape_case.layer;
    task.input(
        1,
        shape_case.origin + ": num_kv_heads " + show(layer.num_kv_heads) + ", head_size " +
            show(layer.head_size) + ", head_size_v " + show(layer.head_size_v) + ", is_latent " +
            show(layer.is_latent) + ", num_blocks " + show(shape_case.num_blocks) +
            ", block_size " + show(shape_case.block_size),
        layer.is_latent
            ? "A latent layer keeps one row a token, for all heads, and its values are a part "
              "of that row."
            : "[B, H, N, C]: blocks, KV heads, tokens of a block, and in each row a key and "
              "its value.");
    const CacheShape got =
        kAnswer.kv_cache_shape(layer, shape_case.num_blocks, shape_case.block_size);
    task.expect(got == shape_case.expected, to_string(shape_case.expected), to_string(got));
  }
}

/// Walks through the memory in the order of a layout, and notes where each axis has its index 1 and the others
/// 0. Every axis has at least two indices.
CacheStrides strides_by_walking(const std::string& layout,
                                std::int64_t num_layers,
                                const CacheShape& shape) {
  const std::string axes = "LBHNC";
  const std::array<std::int64_t, 5> extents = {num_layers, shape.num_blocks, shape.heads,
                                               shape.states, shape.content};
  std::array<std::int64_t, 5> index = {};
  std::array<std::int64_t, 5> found = {};
  std::int64_t num_elements = 1;
  for (const std::int64_t extent : extents) num_elements *= extent;
  for (std::int64_t element = 0; element < num_elements; ++element) {
    const std::int64_t sum = index[0] + index[1] + index[2] + index[3] + index[4];
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (sum == 1 && index[axis] == 1) found[axis] = element;
    }
    // The next element: count up the last axis of the layout, and carry to the one before it.
    for (auto letter = layout.rbegin(); letter != layout.rend(); ++letter) {
      const std::size_t axis = axes.find(*letter);
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
  return {found[0], found[1], found[2], found[3], found[4]};
}

/// The strides of pagelab's own cache must be the same.
void require_same_as_kv_cache(const CacheShape& shape, KvOrder order, const CacheStrides& strides) {
  KvCacheSpec spec;
  spec.num_blocks = shape.num_blocks;
  spec.block_size = shape.states;
  spec.num_kv_heads = shape.heads;
  spec.head_size = shape.content - 1;
  spec.head_size_v = 1;
  spec.layout = {order, KvPacking::kOneRow};
  const KvStrides own = KvCache(spec).key_strides();
  if (own.block != strides.block || own.token != strides.state || own.head != strides.head) {
    throw std::logic_error("the check is wrong: pagelab's cache has other strides.");
  }
}

void check_strides_of(TaskCheck& task) {
  struct Sizes {
    std::int64_t num_layers;
    CacheShape shape;
  };
  for (const Sizes& sizes :
       {Sizes{2, {3, 2, 4, 6}}, Sizes{3, {5, 4, 2, 7}}, Sizes{2, {2, 3, 5, 8}}}) {
    for (const std::string layout : {"LBNHC", "LBHNC", "BLNHC", "BLHNC", "BHLNC", "LHBNC"}) {
      const CacheStrides expected = strides_by_walking(layout, sizes.num_layers, sizes.shape);
      if (layout == "LBNHC") require_same_as_kv_cache(sizes.shape, KvOrder::kNHD, expected);
      if (layout == "LBHNC") require_same_as_kv_cache(sizes.shape, KvOrder::kHND, expected);
      task.input(
          1,
          "layout " + layout + ", " + show(sizes.num_layers) +
              " layers of [B, H, N, C] = " + to_string(sizes.shape),
          "The last letter has stride 1. A step along another axis passes over everything that the "
          "letters behind it span: the product of their sizes.");
      const CacheStrides got = kAnswer.strides_of(layout, sizes.num_layers, sizes.shape);
      task.expect(got == expected, to_string(expected), to_string(got));
    }
  }
}

/// Query lengths in the order of the batch, a threshold, and vLLM's answer.
struct GoldenSplit {
  int id;
  std::vector<std::int32_t> query_lens;
  std::int64_t threshold;
  BatchSplit expected;
};

void check_split(TaskCheck& task) {
  const std::vector<GoldenSplit> lines = {{423, {1}, 1, {1, 0, 1, 0}},
                                          {457, {2, 2, 2, 1}, 1, {0, 4, 0, 7}},
                                          {261, {1, 1, 1, 5, 2}, 1, {3, 2, 3, 7}},
                                          {400, {1, 1, 1, 0, 0}, 1, {5, 0, 3, 0}},
                                          {2, {1, 1, 8, 1, 1}, 1, {2, 3, 2, 10}},
                                          {2, {1, 1, 8, 1, 1}, 8, {5, 0, 12, 0}},
                                          {9, {1, 2, 2, 1, 1, 5, 17, 3}, 1, {1, 7, 1, 31}},
                                          {9, {1, 2, 2, 1, 1, 5, 17, 3}, 2, {5, 3, 7, 25}}};
  for (const GoldenSplit& line : lines) {
    CommonAttentionMetadata common;
    for (const std::int32_t query_len : line.query_lens) {
      common.query_start_loc.push_back(common.query_start_loc.back() + query_len);
      common.seq_lens.push_back(query_len);
    }
    task.input(static_cast<std::int64_t>(line.query_lens.size()),
               "line " + show(line.id) + " of reorder.jsonl: query lengths " +
                   show(line.query_lens) + ", decode_threshold " + show(line.threshold),
               "Each part is a slice: the second begins with the first request that is too long, "
               "and has all "
               "that follow, short ones too. A decode may have several tokens, or none.");
    const BatchSplit got = kAnswer.split_decodes_and_prefills(common, line.threshold);
    task.expect(got == line.expected, to_string(line.expected), to_string(got));
  }
}

/// A batch with its blocks.
struct Batch {
  std::string origin;
  std::vector<std::int32_t> query_lens;
  std::vector<std::int32_t> seq_lens;
  std::vector<std::vector<std::int32_t>> pages;  // rows may be longer than needed
  std::int64_t page_size;
};

CommonAttentionMetadata common_of(const Batch& batch) {
  CommonAttentionMetadata common;
  for (const std::int32_t query_len : batch.query_lens) {
    common.query_start_loc.push_back(common.query_start_loc.back() + query_len);
  }
  common.seq_lens = batch.seq_lens;
  common.block_table = BlockTable::from_rows(batch.pages);
  return common;
}

Batch random_batch(int seed, int num_reqs, int page_size) {
  RandomData random(seed);
  Batch batch = {"random with seed " + show(seed), {}, {}, {}, page_size};
  for (int i = 0; i < num_reqs; ++i) {
    const bool is_decode = 2 * i < num_reqs;  // decodes in front, as after a reorder
    const int query_len = is_decode ? 1 : random.integer(2, 2 * page_size + 2);
    const int seq_len = query_len + random.integer(0, 3 * page_size);
    batch.query_lens.push_back(query_len);
    batch.seq_lens.push_back(seq_len);
    const std::vector<int> row = random.distinct(seq_len / page_size + 2, 50);
    batch.pages.emplace_back(row.begin(), row.end());
  }
  return batch;
}

std::vector<Batch> batches() {
  std::vector<Batch> all = {
      {"a decode", {1}, {6}, {{7, 2}}, 4},
      {"a decode that fills its page", {1}, {8}, {{7, 2}}, 4},
      {"a prefill", {5}, {5}, {{3, 6}}, 4},
      {"a decode and a row of padding", {1, 0}, {6, 0}, {{7, 2}, {0, 0}}, 4},
      {"the README's batch", {1, 5, 3}, {10, 9, 3}, {{6, 1, 4}, {2, 8, 5}, {7}}, 4},
      {"the README's batch, its decode last",
       {5, 3, 1},
       {9, 3, 10},
       {{2, 8, 5}, {7}, {6, 1, 4}},
       4}};
  int seed = 0;
  for (const int num_reqs : {4, 6, 7}) {
    for (const int page_size : {1, 3, 16}) all.push_back(random_batch(++seed, num_reqs, page_size));
  }
  return all;
}

/// The right arrays, counted off token by token.
FlashInferMetadata expected_metadata(const Batch& batch) {
  FlashInferMetadata expected;
  expected.paged_kv_indptr = {0};
  expected.qo_indptr = {0};
  for (std::size_t i = 0; i < batch.seq_lens.size(); ++i) {
    std::int32_t in_page = 0;
    std::size_t next_page = 0;
    for (std::int32_t token = 0; token < batch.seq_lens[i]; ++token) {
      if (in_page == 0 || in_page == batch.page_size) {
        expected.paged_kv_indices.push_back(batch.pages[i][next_page++]);
        in_page = 0;
      }
      ++in_page;
    }
    expected.paged_kv_last_page_len.push_back(in_page);
    expected.paged_kv_indptr.push_back(expected.paged_kv_indptr.back() +
                                       static_cast<std::int32_t>(next_page));
    const bool is_decode = expected.split.num_prefills == 0 && batch.query_lens[i] <= 1;
    (is_decode ? expected.split.num_decodes : expected.split.num_prefills) += 1;
    (is_decode ? expected.split.num_decode_tokens : expected.split.num_prefill_tokens) +=
        batch.query_lens[i];
    if (!is_decode) expected.qo_indptr.push_back(expected.qo_indptr.back() + batch.query_lens[i]);
  }
  return expected;
}

std::string describe(const Batch& batch) {
  std::string text = batch.origin + ": page_size " + show(batch.page_size) + ", query lengths " +
                     show(batch.query_lens) + ", seq_lens " + show(batch.seq_lens) +
                     ", block_table";
  for (const std::vector<std::int32_t>& row : batch.pages) text += " " + show(row);
  return text;
}

void check_build(TaskCheck& task) {
  for (const Batch& batch : batches()) {
    const auto size = static_cast<std::int64_t>(batch.seq_lens.size());
    const std::string text = describe(batch);
    const FlashInferMetadata expected = expected_metadata(batch);
    task.input(size, text, "split_decodes_and_prefills, with a threshold of 1.");
    const FlashInferMetadata got = kAnswer.build(common_of(batch), batch.page_size);
    task.expect(got.split == expected.split, to_string(expected.split), to_string(got.split));
    task.input(
        size, text,
        "A request has as many pages as hold its seq_len tokens; what its row has behind them is "
        "never read. The indptr is a running total of pages, one entry longer than the batch.");
    task.expect_equal("paged_kv_indptr", got.paged_kv_indptr, expected.paged_kv_indptr);
    task.expect_equal("paged_kv_indices", got.paged_kv_indices, expected.paged_kv_indices);
    task.input(size, text,
               "The last page has 1 to page_size tokens, and none only if the request has none: "
               "seq_len is "
               "(pages - 1) * page_size + last_page_len.");
    task.expect_equal("paged_kv_last_page_len", got.paged_kv_last_page_len,
                      expected.paged_kv_last_page_len);
    task.input(size, text,
               "The prefill kernel gets the queries behind the decodes' as an array of its own, "
               "and counts "
               "from its beginning.");
    task.expect_equal("qo_indptr", got.qo_indptr, expected.qo_indptr);
  }
}

}  // namespace
}  // namespace pagelab::lesson_09

int main(int argc, char** argv) {
  using namespace pagelab::lesson_09;
  pagelab::lessons::Checker checker("09", "what a backend provides", kAnswer.path);
  checker.add_task("kv_cache_shape", check_kv_cache_shape);
  checker.add_task("strides_of", check_strides_of);
  checker.add_task("split_decodes_and_prefills", check_split);
  checker.add_task("build", check_build);
  return checker.run(argc, argv);
}
