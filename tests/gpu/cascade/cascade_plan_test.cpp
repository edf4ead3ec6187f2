// The plan of a cascade, against arrays worked out by hand: pages of 4 tokens, three of them shared.

#include <doctest/doctest.h>

#include "gpu/backends/flashinfer_plan.h"

using namespace pagelab;

namespace {

using Numbers = std::vector<std::int32_t>;
using Indices = std::vector<std::int64_t>;

// Queries of 1, 0, 3 and 1 tokens behind 12 shared ones; request 1 has no query and other pages.
CommonAttentionMetadata four_requests() {
  CommonAttentionMetadata common;
  common.query_start_loc = {0, 1, 1, 4, 5};
  common.seq_lens = {13, 9, 21, 16};
  common.block_table =
      BlockTable::from_rows({{6, 1, 4, 9}, {8, 0, 3}, {6, 1, 4, 2, 7, 5}, {6, 1, 4, 10}});
  common.slot_mapping = {36, 30, 31, 20, 43};
  return common;
}

}  // namespace

TEST_SUITE("cascade attention on devices") {
  TEST_CASE(
      "level 0 has one list of pages for all queries of a wrapper and level 1 those after it") {
    const CascadePlan plan =
        plan_flashinfer_cascade(split_cascade(four_requests(), AttentionVariant{}, 4, 3), 4);
    CHECK(plan.shared.decode.qo_indptr == Numbers{0, 2});
    CHECK(plan.shared.decode.tokens == Indices{0, 4});
    CHECK(plan.shared.prefill.qo_indptr == Numbers{0, 3});
    CHECK(plan.shared.prefill.tokens == Indices{1, 2, 3});
    for (const WrapperPlan* shared : {&plan.shared.decode, &plan.shared.prefill}) {
      CHECK(shared->pages.paged_kv_indptr == Numbers{0, 3});
      CHECK(shared->pages.paged_kv_indices == Numbers{6, 1, 4});
      CHECK(shared->pages.paged_kv_last_page_len == Numbers{4});
    }
    // Tokens after the prefix: 13 − 12 = 1, 21 − 12 = 9 (three pages, one token in the last), 16 − 12 = 4.
    CHECK(plan.own.decode.requests == Indices{0, 3});
    CHECK(plan.own.decode.tokens == Indices{0, 4});
    CHECK(plan.own.decode.pages.paged_kv_indices == Numbers{9, 10});
    CHECK(plan.own.decode.pages.paged_kv_last_page_len == Numbers{1, 4});
    CHECK(plan.own.prefill.requests == Indices{2});
    CHECK(plan.own.prefill.qo_indptr == Numbers{0, 3});
    CHECK(plan.own.prefill.pages.paged_kv_indices == Numbers{2, 7, 5});
    CHECK(plan.own.prefill.pages.paged_kv_last_page_len == Numbers{1});
  }

  TEST_CASE("a batch that is not causal has a prefill wrapper alone on level 1") {
    AttentionVariant variant;
    variant.visibility.causal = false;
    const CascadePlan plan =
        plan_flashinfer_cascade(split_cascade(four_requests(), variant, 4, 3), 4);
    CHECK(plan.shared.decode.requests.empty());
    CHECK(plan.shared.prefill.tokens == Indices{0, 1, 2, 3, 4});
    CHECK(plan.own.decode.requests.empty());
    CHECK(plan.own.prefill.requests == Indices{0, 2, 3});
  }
}
