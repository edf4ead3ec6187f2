// The generated tables against cells that a reader can look up in backends.json.

#include "reference/registry/feature_table.h"

#include <doctest/doctest.h>

#include <set>

#include "reference/registry/catalogue.h"

using namespace pagelab;

namespace {

using Cells = std::vector<std::string>;

std::vector<Cells> rows_named(const FeatureTable& table, const std::string& name) {
  std::vector<Cells> rows;
  for (const Cells& row : table.rows) {
    if (row.front() == name) rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_SUITE("feature tables") {
  TEST_CASE("every backend that has a class stands in exactly one table") {
    std::multiset<std::string> names;
    for (const FeatureTable& table : feature_tables()) {
      std::set<std::string> of_table;
      for (const Cells& row : table.rows) {
        CHECK(row.size() == table.columns.size());
        of_table.insert(row.front());
      }
      names.insert(of_table.begin(), of_table.end());
    }
    std::size_t num_classes = 0;
    for (const auto* rows : {&attention_backends(), &mamba_attention_backends()}) {
      for (const BackendFacts* row : *rows) {
        if (row->class_name.empty()) continue;
        ++num_classes;
        CHECK(names.count(std::string(row->name)) == 1);
      }
    }
    CHECK(num_classes == 48);
    CHECK(names.size() == num_classes);
  }

  TEST_CASE("FLASH_ATTN has a row for each version and says on which GPUs it holds") {
    const std::vector<Cells> rows = rows_named(feature_tables().front(), "FLASH_ATTN");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0] == Cells{"FLASH_ATTN", "FA2*", "fp16, bf16", "auto, float16, bfloat16", "%16",
                           "%8, ≤256", "no", "yes", "no", "yes", "All", "8.x, 12.x",
                           "simulator, cuda"});
    CHECK(rows[1] == Cells{"FLASH_ATTN", "FA3*", "fp16, bf16",
                           "auto, float16, bfloat16, fp8, fp8_e4m3", "%16", "%8, ≤512", "yes",
                           "yes", "yes", "yes", "All", "9.x", "simulator, cuda"});
    CHECK(rows[2][1] == "FA4*");
    // Thor runs version 2, but version 4 is there for heads and masks that need it.
    CHECK(rows[3][1] == "FA2*");
    CHECK(rows[3][5] == "%8, ≤512");
    CHECK(rows[3][11] == "11.x");
  }

  TEST_CASE("a latent backend says whether it is sparse and on which generations it runs") {
    const FeatureTable table = feature_tables()[1];
    CHECK(rows_named(table, "FLASHMLA").front() ==
          Cells{"FLASHMLA", "fp16, bf16", "auto, float16, bfloat16, fp8, fp8_e4m3", "64",
                "320, 512, 576", "no", "no", "no", "no", "yes", "Decoder", "9.x-10.x", "no"});
    CHECK(rows_named(table, "TRITON_MLA").front()[11] == "Any");
    CHECK(rows_named(table, "CPU_MLA").front()[11] == "N/A");
  }

  TEST_CASE("the last table says what the backends of pagelab take") {
    const FeatureTable table = own_backends_table();
    CHECK(table.rows.size() == implementations().size());
    CHECK(rows_named(table, "FLASH_ATTN").front() ==
          Cells{"FLASH_ATTN", "simulator, cuda", "fp16, bf16, fp32, fp64",
                "auto, float16, bfloat16, float32, float64, fp8, fp8_e4m3, fp8_e5m2", "Any", "≤256",
                "yes", "yes", "yes", "yes", "Decoder, Encoder Only, Enc-Dec"});
  }

  TEST_CASE("the lists of priorities begin with what the documentation says") {
    const std::vector<FeatureTable> tables = priority_tables();
    REQUIRE(tables.size() == 9);
    CHECK(tables[0].rows.front() == Cells{"1", "FLASHINFER"});
    CHECK(tables[3].rows.front() == Cells{"1", "FLASH_ATTN"});
    CHECK(tables[6].rows ==
          std::vector<Cells>{{"1", "TRITON_MLA"}, {"2", "FLASHINFER_MLA_SPARSE_SM120"}});
  }
}
