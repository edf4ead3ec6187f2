/// \file
/// What FLASHINFER plans for a step on the host, before a kernel runs: which requests each of its two wrappers
/// attends for, and their pages without the gaps of a block table.
///
/// Of what the real plan computes this is the part that our kernels need. They split a long context at every 512
/// keys, whatever the batch, so there is no chunk size to search for and no list of work units: a request's bits
/// are the same in every batch, as FlashInfer's are with a fixed split size. Nor is there a query tile to choose:
/// each kernel of paged_prefill has its own.
/// \source  FlashInfer (Ye et al. 2025), section 3.1; vLLM v1/attention/backends/flashinfer.py, build
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/attention/cascade.h"
#include "reference/contract/attention_step.h"

namespace pagelab {

/// The pages of some requests, one request after the other: a sparse matrix by its rows (CSR). With pages of 4
/// tokens:
///
///     seq_lens [6, 0, 4]      block_table   7  2      paged_kv_indptr        [0, 2, 2, 3]
///                                           ·  ·      paged_kv_indices       [7, 2, 5]
///                                           5  ·      paged_kv_last_page_len [2, 0, 4]
///
/// A request r of n = indptr[r + 1] − indptr[r] pages has (n − 1) · page_size + last_page_len[r] tokens.
struct PagedKvTable {
  std::vector<std::int32_t> paged_kv_indptr = {0};  ///< [num_reqs + 1] first page of each request
  std::vector<std::int32_t> paged_kv_indices;       ///< [indptr[num_reqs]] physical pages
  /// [num_reqs] tokens of the last page: 1 to page_size, 0 only for a request without tokens.
  std::vector<std::int32_t> paged_kv_last_page_len;

  /// Requests.
  std::int64_t num_reqs() const { return static_cast<std::int64_t>(paged_kv_last_page_len.size()); }
  /// Pages of the request that has most.
  std::int64_t max_pages_per_req() const;
};

/// Tokens of a request by its pages: (num_pages − 1) · page_size + last_page_len.
/// \param num_pages      its pages
/// \param last_page_len  tokens of the last one: 1 to page_size; without pages 0
/// \param page_size      tokens a page
/// \throws Error         if a number is out of range
std::int64_t num_tokens_of_pages(std::int64_t num_pages,
                                 std::int64_t last_page_len,
                                 std::int64_t page_size);

/// Checks what kernels trust, whoever made the table.
/// \param table      pages of some requests
/// \param page_size  tokens a page
/// \throws Error     if an indptr does not begin with 0, decreases or does not end with the number of pages, or if a
///                   request's last length does not fit its pages; naming the request
void validate(const PagedKvTable& table, std::int64_t page_size);

/// Appends the pages of one request.
/// \param table      what they are appended to
/// \param pages      the request's row of the block table; what is beyond its tokens is not read
/// \param seq_len    its tokens
/// \param page_size  tokens a page
/// \throws Error     if page_size is not positive, seq_len is negative, or the row is too short
void append_pages(PagedKvTable& table,
                  std::span<const std::int32_t> pages,
                  std::int64_t seq_len,
                  std::int64_t page_size);

/// What one wrapper attends for.
struct WrapperPlan {
  std::vector<std::int64_t> requests;  ///< [n] which of the batch's, in the batch's order
  std::vector<std::int64_t> tokens;    ///< [qo_indptr[n]] row of the batch of each of its queries
  /// [n + 1] first query of each request, among the wrapper's own.
  std::vector<std::int32_t> qo_indptr = {0};
  PagedKvTable pages;  ///< of its requests
};

/// What both do. A request without a query is with neither.
struct FlashInferPlan {
  WrapperPlan decode;   ///< requests with one query
  WrapperPlan prefill;  ///< all others; and those with one query where the batch is not causal
};

/// Whether a request goes to the decode wrapper.
/// \param common   the batch
/// \param causal   whether attention is causal
/// \param req_idx  request
bool is_decode(const CommonAttentionMetadata& common, bool causal, std::int64_t req_idx);

/// Plans a step. vLLM has put the decodes in front before; here the wrappers' rows may lie anywhere in the batch,
/// and are gathered.
/// \param common       the batch
/// \param causal       whether attention is causal
/// \param block_table  [num_reqs, ...] pages of each request
/// \param page_size    tokens a page
/// \throws Error       as append_pages
FlashInferPlan plan_flashinfer(const CommonAttentionMetadata& common,
                               bool causal,
                               const BlockTable& block_table,
                               std::int64_t page_size);

/// The two levels of a cascade, as FlashInfer's MultiLevelCascadeAttentionWrapper has them: each is planned by
/// itself over one pool of pages.
///
///     level 0    qo_indptr [0, n]            one list of pages, which all share; not causal
///     level 1    as without a cascade        the pages of each request after those; causal if asked
///
/// Differs: FlashInfer's level 0 is one wrapper for all queries. Here those of decodes and the others have one each, by
/// the rule of level 1: the kernel that suits a few rows, cascade/1_prefix, would need much workspace for many.
struct CascadePlan {
  FlashInferPlan shared;  ///< level 0: in each wrapper one request, or none
  FlashInferPlan own;     ///< level 1, without the sinks, which are level 0's
};

/// Plans a cascade.
/// \param parts      of split_cascade
/// \param page_size  tokens a page
/// \throws Error     as append_pages
CascadePlan plan_flashinfer_cascade(const CascadeParts& parts, std::int64_t page_size);

}  // namespace pagelab
