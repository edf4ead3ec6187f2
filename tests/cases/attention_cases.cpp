#include "tests/cases/attention_cases.h"

#include <functional>

namespace pagelab::test {
namespace {

using Change = std::function<void(RandomStepOptions&)>;

// The table under construction: every row starts from the same plain step and changes some fields.
class Table {
 public:
  explicit Table(std::uint64_t seed_offset) : next_seed_(seed_offset + 1) {}

  void add(std::string name, const Change& change) {
    RandomStepOptions options;
    change(options);
    cases_.push_back({std::move(name), options, next_seed_++});
  }

  std::vector<AttentionCase> take() { return std::move(cases_); }

 private:
  std::vector<AttentionCase> cases_;
  std::uint64_t next_seed_;
};

constexpr DType kActivations[] = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                  DType::kBFloat16};
constexpr DType kFp8[] = {DType::kFp8E4M3, DType::kFp8E5M2};

void add_batches(Table& table) {
  for (DType dtype : kActivations) {
    const std::string name = " batch in " + std::string(to_string(dtype));
    table.add("decode" + name, [=](auto& o) { o.dtype = dtype, o.kind = BatchKind::kDecode; });
    table.add("prefill" + name, [=](auto& o) { o.dtype = dtype, o.kind = BatchKind::kPrefill; });
    table.add("chunked" + name, [=](auto& o) { o.dtype = dtype, o.kind = BatchKind::kChunked; });
    table.add("mixed" + name, [=](auto& o) {
      o.dtype = dtype;
      o.num_empty_reqs = 1;
      o.num_idle_reqs = 1;
      o.padding_rows = 3;
      o.unstored_percent = 20;
    });
  }
}

void add_caches(Table& table) {
  for (KvLayout layout : all_kv_layouts()) {
    table.add("layout " + to_string(layout), [=](auto& o) { o.layout = layout; });
  }
  for (DType fp8 : kFp8) {
    const std::string name = std::string(to_string(fp8)) + " cache under ";
    for (DType dtype : kActivations) {
      table.add(name + std::string(to_string(dtype)), [=](auto& o) {
        o.dtype = dtype;
        o.kv_cache_dtype = fp8;
        o.scales_per_head = dtype == DType::kFloat32 || dtype == DType::kFloat16;
        o.layout = {KvOrder::kHND, KvPacking::kOneRow};
      });
    }
    table.add(name + "values beyond its range", [=](auto& o) {
      o.kv_cache_dtype = fp8;
      o.amplitude = fp8 == DType::kFp8E4M3 ? 900.0 : 1e5;
      o.scale = 1e-7;
    });
  }
  table.add("float16 cache under float32", [](auto& o) { o.kv_cache_dtype = DType::kFloat16; });
  table.add("float32 cache under bfloat16", [](auto& o) {
    o.dtype = DType::kBFloat16;
    o.kv_cache_dtype = DType::kFloat32;
  });
  for (std::int64_t block_size : {1, 3, 16, 32}) {
    table.add("block size " + std::to_string(block_size),
              [=](auto& o) { o.block_size = block_size, o.max_seq_len = 37; });
  }
  table.add("shared prefix blocks", [](auto& o) {
    o.kind = BatchKind::kDecode;
    o.min_seq_len = 9;
    o.shared_prefix_blocks = 2;
  });
  table.add("stale table entries", [](auto& o) { o.stale_table_entries = true; });
  table.add("tables exactly as wide as needed", [](auto& o) {
    o.spare_table_columns = 0;
    o.spare_blocks = 0;
  });
}

void add_lengths(Table& table) {
  // Block size 4: lengths 0, 1, one below, at and above a block, and two blocks.
  table.add("decode around the block size", [](auto& o) {
    o.requests = {{0, 0}, {1, 1}, {1, 3}, {1, 4}, {1, 5}, {1, 8}, {1, 9}};
  });
  table.add("prefill around the block size", [](auto& o) {
    o.requests = {{0, 0}, {1, 1}, {3, 3}, {4, 4}, {5, 5}, {8, 8}, {9, 9}};
  });
  table.add("no request at all", [](auto& o) { o.num_reqs = 0, o.padding_rows = 2; });
  table.add("no token at all", [](auto& o) {
    o.num_reqs = 0;
    o.num_empty_reqs = 2;
    o.num_idle_reqs = 1;
  });
  table.add("queries longer than their sequences", [](auto& o) {
    o.requests = {{1, 0}, {1, 3}, {1, 4}, {1, 7}};
    o.query_excess = 5;
  });
  table.add("nothing stored", [](auto& o) { o.unstored_percent = 100; });
}

void add_heads(Table& table) {
  for (std::int64_t group : {1, 2, 3, 4, 5, 7, 8, 16}) {
    table.add("group of " + std::to_string(group) + " query heads", [=](auto& o) {
      o.num_kv_heads = 3;
      o.num_query_heads = 3 * group;
      o.num_reqs = 3;
    });
  }
  table.add("one KV head for all", [](auto& o) { o.num_kv_heads = 1, o.num_query_heads = 7; });
  for (std::int64_t head_size : {1, 33, 128}) {
    table.add("head size " + std::to_string(head_size), [=](auto& o) {
      o.head_size = head_size;
      o.head_size_v = head_size == 33 ? 65 : head_size;
    });
  }
}

void add_variants(Table& table) {
  table.add("not causal", [](auto& o) { o.causal = false; });
  table.add("window of one key", [](auto& o) { o.window_left = 0; });
  table.add("window of five keys", [](auto& o) { o.window_left = 4; });
  table.add("symmetric window", [](auto& o) {
    o.causal = false;
    o.window_left = 3;
    o.window_right = 2;
  });
  table.add("window that hides every key of longer queries", [](auto& o) {
    o.requests = {{1, 2}, {1, 3}};
    o.query_excess = 6;
    o.causal = false;
    o.window_left = 1;
    o.window_right = 1;
  });
  table.add("soft cap", [](auto& o) { o.logit_softcap = 0.9, o.scale = 1.0; });
  table.add("ALiBi", [](auto& o) { o.alibi = true; });
  table.add("ALiBi, not causal", [](auto& o) { o.alibi = true, o.causal = false; });
  table.add("sinks", [](auto& o) { o.sinks = true, o.num_empty_reqs = 1; });
  table.add("sinks and longer queries", [](auto& o) {
    o.sinks = true;
    o.requests = {{1, 0}, {1, 4}, {1, 6}};
    o.query_excess = 3;
  });
  table.add("prefix ranges", [](auto& o) { o.mm_prefix = true, o.kind = BatchKind::kPrefill; });
  table.add("prefix ranges in chunks under a window", [](auto& o) {
    o.mm_prefix = true;
    o.kind = BatchKind::kChunked;
    o.window_left = 2;
  });
  table.add("scores that reach thousands", [](auto& o) { o.amplitude = 40.0, o.scale = 1.0; });
  for (DType dtype : kActivations) {
    table.add("every option in " + std::string(to_string(dtype)), [=](auto& o) {
      o.dtype = dtype;
      o.window_left = 6;
      o.logit_softcap = 1.7;
      o.alibi = true;
      o.sinks = true;
      o.mm_prefix = true;
      o.num_empty_reqs = 1;
      o.num_idle_reqs = 1;
      o.padding_rows = 2;
      o.unstored_percent = 10;
      o.layout = {KvOrder::kHND, KvPacking::kInterleavedByBlock};
    });
  }
}

void add_encoders(Table& table) {
  table.add("encoder only", [](auto& o) { o.attn_type = AttnType::kEncoderOnly; });
  table.add("encoder only, without a cache", [](auto& o) {
    o.attn_type = AttnType::kEncoderOnly;
    o.without_cache = true;
    o.num_empty_reqs = 1;
    o.padding_rows = 2;
  });
  table.add("encoder only, symmetric window, bfloat16", [](auto& o) {
    o.attn_type = AttnType::kEncoderOnly;
    o.dtype = DType::kBFloat16;
    o.window_left = 2;
    o.window_right = 2;
  });
  table.add("encoder only over an fp8 cache that it only writes", [](auto& o) {
    o.attn_type = AttnType::kEncoderOnly;
    o.kv_cache_dtype = DType::kFp8E4M3;
  });
  table.add("cross attention", [](auto& o) {
    o.attn_type = AttnType::kEncoderDecoder;
    o.requests = {{1, 7}, {4, 0}, {2, 13}, {5, 3}, {0, 6}};
  });
  table.add("cross attention with sinks and a soft cap, float16", [](auto& o) {
    o.attn_type = AttnType::kEncoderDecoder;
    o.dtype = DType::kFloat16;
    o.requests = {{3, 9}, {1, 0}, {6, 2}};
    o.sinks = true;
    o.logit_softcap = 2.5;
  });
}

}  // namespace

std::vector<AttentionCase> attention_cases(std::uint64_t seed_offset) {
  Table table(seed_offset);
  add_batches(table);
  add_caches(table);
  add_lengths(table);
  add_heads(table);
  add_variants(table);
  add_encoders(table);
  return table.take();
}

}  // namespace pagelab::test
