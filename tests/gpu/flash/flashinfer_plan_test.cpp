// FLASHINFER's plan, against arrays worked out by hand from the formulas of FlashInfer's page table:
// indptr are prefix sums of ⌈seq_len / page_size⌉; last_page_len is seq_len mod page_size, but page_size where
// that is 0, and 0 only for a request without tokens.

#include "gpu/backends/flashinfer_plan.h"

#include <doctest/doctest.h>

#include "reference/contract/error.h"

using namespace pagelab;

namespace {

using Numbers = std::vector<std::int32_t>;
using Indices = std::vector<std::int64_t>;

// Four requests with queries of 1, 3, 0 and 1 tokens.
CommonAttentionMetadata four_requests() {
  CommonAttentionMetadata common;
  common.query_start_loc = {0, 1, 4, 4, 5};
  common.seq_lens = {6, 4, 9, 1};
  common.block_table = BlockTable::from_rows({{7, 2}, {5}, {0, 1, 3}, {6}});
  return common;
}

}  // namespace

TEST_SUITE("FLASHINFER's plan") {
  TEST_CASE("pages of lengths around a page have prefix sums and a last length that is never 0") {
    // Pages of 4 tokens: 0 → 0 pages; 1 → 1, last 1; 3 → 1, last 3; 4 → 1, last 4; 5 → 2, last 1.
    PagedKvTable table;
    std::int32_t next_page = 10;
    for (const std::int64_t seq_len : {0, 1, 3, 4, 5}) {
      const Numbers pages = {next_page, next_page + 1, -1};
      append_pages(table, pages, seq_len, 4);
      next_page += 2;
    }
    CHECK(table.paged_kv_indptr == Numbers{0, 0, 1, 2, 3, 5});
    CHECK(table.paged_kv_indices == Numbers{12, 14, 16, 18, 19});
    CHECK(table.paged_kv_last_page_len == Numbers{0, 1, 3, 4, 1});
    CHECK(table.num_reqs() == 5);
    CHECK(table.max_pages_per_req() == 2);
  }

  TEST_CASE("E14: a last page has from 1 to page_size tokens and none only without pages") {
    CHECK(num_tokens_of_pages(3, 16, 16) == 48);
    CHECK(num_tokens_of_pages(3, 1, 16) == 33);
    CHECK(num_tokens_of_pages(0, 0, 16) == 0);
    CHECK_THROWS_WITH_AS(num_tokens_of_pages(3, 17, 16),
                         "last_page_len is 17, but the last of 3 pages has 1 to 16 tokens.", Error);
    CHECK_THROWS_WITH_AS(num_tokens_of_pages(3, 0, 16),
                         "last_page_len is 0, but the last of 3 pages has 1 to 16 tokens.", Error);
    CHECK_THROWS_WITH_AS(num_tokens_of_pages(0, 1, 16),
                         "last_page_len is 1, but there are no pages; then it is 0.", Error);
  }

  TEST_CASE("E14: a page table that no plan has made is refused before a kernel reads it") {
    PagedKvTable table;
    table.paged_kv_indptr = {0, 2, 2, 3};
    table.paged_kv_indices = {7, 2, 5};
    table.paged_kv_last_page_len = {2, 0, 4};
    CHECK_NOTHROW(validate(table, 4));
    // Pages of 3 tokens cannot have 4.
    CHECK_THROWS_WITH_AS(validate(table, 3),
                         "request 2 of the page table: last_page_len is 4, but the last of 1 pages "
                         "has 1 to 3 tokens.",
                         Error);
    table.paged_kv_last_page_len = {2, 1, 4};
    CHECK_THROWS_WITH_AS(validate(table, 4),
                         "request 1 of the page table: last_page_len is 1, but there are no pages; "
                         "then it is 0.",
                         Error);
    table.paged_kv_last_page_len = {2, 0, 4};
    table.paged_kv_indptr = {0, 3, 2, 3};
    CHECK_THROWS_WITH_AS(validate(table, 4),
                         "request 1 of the page table: num_pages is -1, but must not be negative.",
                         Error);
    table.paged_kv_indptr = {0, 2, 2, 2};
    CHECK_THROWS_AS(validate(table, 4), Error);
    table.paged_kv_indptr = {0, 2, 3};
    CHECK_THROWS_AS(validate(table, 4), Error);
  }

  TEST_CASE("a batch without requests has an indptr of one 0") {
    const FlashInferPlan plan = plan_flashinfer({}, true, {}, 4);
    CHECK(plan.decode.pages.paged_kv_indptr == Numbers{0});
    CHECK(plan.prefill.qo_indptr == Numbers{0});
    CHECK(plan.decode.pages.max_pages_per_req() == 0);
  }

  TEST_CASE("requests with one query go to the decode wrapper and longer ones to the other") {
    const CommonAttentionMetadata common = four_requests();
    const FlashInferPlan plan = plan_flashinfer(common, true, common.block_table, 4);
    CHECK(plan.decode.requests == Indices{0, 3});
    CHECK(plan.decode.tokens == Indices{0, 4});
    CHECK(plan.decode.qo_indptr == Numbers{0, 1, 2});
    CHECK(plan.decode.pages.paged_kv_indptr == Numbers{0, 2, 3});
    CHECK(plan.decode.pages.paged_kv_indices == Numbers{7, 2, 6});
    CHECK(plan.decode.pages.paged_kv_last_page_len == Numbers{2, 1});
    CHECK(plan.prefill.requests == Indices{1});
    CHECK(plan.prefill.tokens == Indices{1, 2, 3});
    CHECK(plan.prefill.qo_indptr == Numbers{0, 3});
    CHECK(plan.prefill.pages.paged_kv_indices == Numbers{5});
    CHECK(plan.prefill.pages.paged_kv_last_page_len == Numbers{4});
  }

  TEST_CASE("a batch that is not causal goes to the prefill wrapper as a whole") {
    const CommonAttentionMetadata common = four_requests();
    const FlashInferPlan plan = plan_flashinfer(common, false, common.block_table, 4);
    CHECK(plan.decode.requests.empty());
    CHECK(plan.prefill.requests == Indices{0, 1, 3});
    CHECK(plan.prefill.tokens == Indices{0, 1, 2, 3, 4});
    CHECK(plan.prefill.qo_indptr == Numbers{0, 1, 4, 5});
    CHECK(plan.prefill.pages.paged_kv_indptr == Numbers{0, 2, 3, 4});
    CHECK(plan.prefill.pages.paged_kv_indices == Numbers{7, 2, 5, 6});
  }

  TEST_CASE("a page size or a length or a row that cannot be is refused by name") {
    PagedKvTable table;
    CHECK_THROWS_WITH_AS(append_pages(table, Numbers{1}, 3, 0),
                         "page_size is 0, but must be positive.", Error);
    CHECK_THROWS_WITH_AS(append_pages(table, Numbers{1}, -1, 4),
                         "seq_len is -1, but must not be negative.", Error);
    CHECK_THROWS_WITH_AS(
        append_pages(table, Numbers{1}, 5, 4),
        "seq_len is 5, which is 2 pages of 4 tokens, but the block table has 1 for "
        "the request.",
        Error);
    CHECK(table.num_reqs() == 0);
  }
}
