#include "gpu/backends/flashinfer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/contract/error.h"

namespace pagelab {
namespace {

void append_request(WrapperPlan& plan,
                    const CommonAttentionMetadata& common,
                    std::int64_t req_idx,
                    const BlockTable& block_table,
                    std::int64_t page_size) {
  plan.requests.push_back(req_idx);
  const std::size_t request = static_cast<std::size_t>(req_idx);
  for (std::int32_t token = common.query_start_loc[request];
       token < common.query_start_loc[request + 1]; ++token) {
    plan.tokens.push_back(token);
  }
  plan.qo_indptr.push_back(static_cast<std::int32_t>(plan.tokens.size()));
  append_pages(plan.pages, block_table.row(req_idx), common.seq_lens[request], page_size);
}

}  // namespace

std::int64_t PagedKvTable::max_pages_per_req() const {
  std::int64_t most = 0;
  for (std::size_t req_idx = 0; req_idx + 1 < paged_kv_indptr.size(); ++req_idx) {
    most = std::max<std::int64_t>(most, paged_kv_indptr[req_idx + 1] - paged_kv_indptr[req_idx]);
  }
  return most;
}

std::int64_t num_tokens_of_pages(std::int64_t num_pages,
                                 std::int64_t last_page_len,
                                 std::int64_t page_size) {
  if (page_size < 1) throw Error(fmt::format("page_size is {}, but must be positive.", page_size));
  if (num_pages < 0)
    throw Error(fmt::format("num_pages is {}, but must not be negative.", num_pages));
  if (num_pages == 0 && last_page_len != 0) {
    throw Error(
        fmt::format("last_page_len is {}, but there are no pages; then it is 0.", last_page_len));
  }
  if (num_pages == 0) return 0;
  if (last_page_len < 1 || last_page_len > page_size) {
    throw Error(fmt::format("last_page_len is {}, but the last of {} pages has 1 to {} tokens.",
                            last_page_len, num_pages, page_size));
  }
  return (num_pages - 1) * page_size + last_page_len;
}

void validate(const PagedKvTable& table, std::int64_t page_size) {
  const std::vector<std::int32_t>& indptr = table.paged_kv_indptr;
  const std::size_t num_reqs = table.paged_kv_last_page_len.size();
  if (indptr.size() != num_reqs + 1 || indptr.front() != 0 ||
      indptr.back() != static_cast<std::int64_t>(table.paged_kv_indices.size())) {
    throw Error(fmt::format(
        "paged_kv_indptr has {} entries for {} requests and ends with {}; it must have one "
        "more than there are requests, begin with 0 and end with the {} pages.",
        indptr.size(), num_reqs, indptr.empty() ? 0 : indptr.back(),
        table.paged_kv_indices.size()));
  }
  for (std::size_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    try {
      num_tokens_of_pages(indptr[req_idx + 1] - indptr[req_idx],
                          table.paged_kv_last_page_len[req_idx], page_size);
    } catch (const Error& error) {
      throw Error(fmt::format("request {} of the page table: {}", req_idx, error.what()));
    }
  }
}

void append_pages(PagedKvTable& table,
                  std::span<const std::int32_t> pages,
                  std::int64_t seq_len,
                  std::int64_t page_size) {
  if (page_size < 1) throw Error(fmt::format("page_size is {}, but must be positive.", page_size));
  if (seq_len < 0) throw Error(fmt::format("seq_len is {}, but must not be negative.", seq_len));
  const std::int64_t num_pages = blocks_for_tokens(seq_len, page_size);
  if (num_pages > static_cast<std::int64_t>(pages.size())) {
    throw Error(
        fmt::format("seq_len is {}, which is {} pages of {} tokens, but the block table has {} for "
                    "the request.",
                    seq_len, num_pages, page_size, pages.size()));
  }
  const std::span<const std::int32_t> used = pages.first(static_cast<std::size_t>(num_pages));
  table.paged_kv_indices.insert(table.paged_kv_indices.end(), used.begin(), used.end());
  table.paged_kv_indptr.push_back(static_cast<std::int32_t>(table.paged_kv_indices.size()));
  const std::int64_t tokens_before = num_pages == 0 ? 0 : (num_pages - 1) * page_size;
  table.paged_kv_last_page_len.push_back(static_cast<std::int32_t>(seq_len - tokens_before));
}

bool is_decode(const CommonAttentionMetadata& common, bool causal, std::int64_t req_idx) {
  return causal && common.query_len(req_idx) == 1;
}

FlashInferPlan plan_flashinfer(const CommonAttentionMetadata& common,
                               bool causal,
                               const BlockTable& block_table,
                               std::int64_t page_size) {
  FlashInferPlan plan;
  for (std::int64_t req_idx = 0; req_idx < common.num_reqs(); ++req_idx) {
    if (common.query_len(req_idx) == 0) continue;
    WrapperPlan& wrapper = is_decode(common, causal, req_idx) ? plan.decode : plan.prefill;
    append_request(wrapper, common, req_idx, block_table, page_size);
  }
  return plan;
}

CascadePlan plan_flashinfer_cascade(const CascadeParts& parts, std::int64_t page_size) {
  const bool causal = parts.suffix_variant.visibility.causal;
  CascadePlan plan;
  plan.own = plan_flashinfer(parts.suffix, causal, parts.suffix.block_table, page_size);
  for (const auto& [shared, own] : {std::pair(&plan.shared.decode, &plan.own.decode),
                                    std::pair(&plan.shared.prefill, &plan.own.prefill)}) {
    if (own->tokens.empty()) continue;
    shared->requests = {0};
    shared->tokens = own->tokens;
    shared->qo_indptr.push_back(static_cast<std::int32_t>(own->tokens.size()));
    append_pages(shared->pages, parts.prefix.block_table.row(0), parts.prefix.seq_lens.front(),
                 page_size);
  }
  return plan;
}

}  // namespace pagelab
