#include "tests/cases/cascade_cases.h"

#include <functional>

namespace pagelab::test {
namespace {

// The table under construction: every row starts from the same plain step, a batch of decodes and longer queries
// behind a prefix of three blocks.
class CascadeTable {
 public:
  explicit CascadeTable(DType dtype) : dtype_(dtype) {}

  void add(std::string name, const std::function<void(CascadeCase&)>& change) {
    CascadeCase row;
    row.name = std::move(name);
    row.options.dtype = dtype_;
    row.options.head_size = 32;
    row.options.head_size_v = 16;
    row.options.requests = {{1, 13}, {1, 30}, {3, 17}, {1, 14}};
    row.num_common_prefix_blocks = row.options.shared_prefix_blocks = 3;
    row.seed = ++last_seed_;
    change(row);
    row.options.shared_prefix_blocks = row.num_common_prefix_blocks;
    cases_.push_back(row);
  }

  std::vector<CascadeCase> take() { return std::move(cases_); }

 private:
  DType dtype_;
  std::uint64_t last_seed_ = 500;
  std::vector<CascadeCase> cases_;
};

void add_prefixes(CascadeTable& table) {
  for (const std::int64_t block_size : {1, 3, 16}) {
    const auto size = static_cast<std::int32_t>(block_size);
    const std::string name = ", blocks of " + std::to_string(block_size);
    table.add("prefix of one block" + name, [=](CascadeCase& row) {
      row.options.block_size = block_size;
      row.num_common_prefix_blocks = 1;
      row.options.requests = {{1, size + 1}, {1, 2 * size + 2}, {2, size + 9}, {5, size + 5}};
    });
    table.add("prefix of all tokens but one" + name, [=](CascadeCase& row) {
      row.options.block_size = block_size;
      row.num_common_prefix_blocks = 5;
      row.options.requests = {{1, 5 * size + 1}, {1, 5 * size + 1}};
    });
    table.add("prefix of more than a partition" + name, [=](CascadeCase& row) {
      row.options.block_size = block_size;
      row.num_common_prefix_blocks = 530 / size;
      row.options.num_query_heads = 2;
      row.options.requests = {{1, 540}, {1, 531}, {4, 550}};
    });
  }
}

void add_cascade_batches(CascadeTable& table) {
  table.add("one request", [](CascadeCase& row) { row.options.requests = {{1, 13}}; });
  table.add("more queries than a tile of rows", [](CascadeCase& row) {
    row.options.requests = {{70, 90}, {1, 13}, {69, 140}};
  });
  table.add("requests without a query, and padding", [](CascadeCase& row) {
    row.options.requests = {{0, 5}, {1, 13}, {0, 0}, {2, 17}, {0, 40}};
    row.options.padding_rows = 3;
  });
  table.add("no request at all", [](CascadeCase& row) {
    row.options.requests = {};
    row.options.num_reqs = 0;
    row.options.padding_rows = 2;
  });
  table.add("stale table entries",
            [](CascadeCase& row) { row.options.stale_table_entries = true; });
}

void add_cascade_groups(CascadeTable& table) {
  for (const std::int64_t group : {1, 2, 3, 4, 5, 6, 7, 8}) {
    table.add("group of " + std::to_string(group) + " query heads", [=](CascadeCase& row) {
      row.options.num_kv_heads = 3;
      row.options.num_query_heads = 3 * group;
    });
  }
}

void add_cascade_variants(CascadeTable& table) {
  table.add("soft cap", [](CascadeCase& row) { row.options.logit_softcap = 2.0; });
  table.add("sinks", [](CascadeCase& row) { row.options.sinks = true; });
  table.add("not causal", [](CascadeCase& row) { row.options.causal = false; });
  table.add("fp8 cache", [](CascadeCase& row) {
    row.options.kv_cache_dtype = DType::kFp8E4M3;
    row.options.scales_per_head = true;
    row.options.layout = {KvOrder::kHND, KvPacking::kOneRow};
  });
}

}  // namespace

std::vector<CascadeCase> cascade_cases(DType dtype) {
  CascadeTable table(dtype);
  add_prefixes(table);
  add_cascade_batches(table);
  add_cascade_groups(table);
  add_cascade_variants(table);
  return table.take();
}

}  // namespace pagelab::test
