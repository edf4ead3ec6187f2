#include "gpu/backends/flashinfer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpu/backends/cascade.h"
#include "gpu/backends/flashinfer_plan.h"
#include "gpu/backends/kernel_backend.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/kernels/paged_prefill/head_sizes.h"
#include "reference/contract/own_tokens.h"

namespace pagelab {
namespace {

constexpr const char* kName = "FLASHINFER";

// What a wrapper is for.
enum class Wrapper : std::uint8_t { kDecode, kPrefill, kSharedDecode };

std::vector<AttentionRung> rungs_of(const KernelSet& kernels, Wrapper wrapper) {
  switch (wrapper) {
    case Wrapper::kDecode:
      return split_kv_rungs(kernels);
    case Wrapper::kPrefill:
      return varlen_rungs(kernels);
    case Wrapper::kSharedDecode:
      break;
  }
  return prefix_rungs(kernels);
}

// The kernel of a wrapper. paged_decode would take longer heads: what is supported is not to depend on the batch.
AttentionRung rung_for(const KernelSet& kernels,
                       Wrapper wrapper,
                       const PagedAttentionParams& sizes) {
  require_taken(kName, refusal_of_head_sizes(sizes));
  return first_that_takes(kName, rungs_of(kernels, wrapper), sizes);
}

// A wrapper's pages in device memory.
struct DevicePages {
  DevicePages(const std::shared_ptr<Device>& device, const PagedKvTable& pages)
      : paged_kv_indptr(DeviceArray::copy_of(device, pages.paged_kv_indptr, "paged_kv_indptr")),
        paged_kv_indices(DeviceArray::copy_of(device, pages.paged_kv_indices, "paged_kv_indices")),
        paged_kv_last_page_len(
            DeviceArray::copy_of(device, pages.paged_kv_last_page_len, "paged_kv_last_page_len")) {}

  DeviceArray paged_kv_indptr;         // [n + 1]
  DeviceArray paged_kv_indices;        // [paged_kv_indptr[n]]
  DeviceArray paged_kv_last_page_len;  // [n]
};

// The wrapper's requests as a batch of their own. It has no block table.
CommonAttentionMetadata metadata_of(const WrapperPlan& plan,
                                    const CommonAttentionMetadata& common) {
  CommonAttentionMetadata metadata;
  metadata.query_start_loc = plan.qo_indptr;
  for (const std::int64_t req_idx : plan.requests) {
    metadata.seq_lens.push_back(common.seq_lens[static_cast<std::size_t>(req_idx)]);
  }
  return metadata;
}

// The variant, with the numbers that the requests have in the wrapper.
AttentionVariant variant_of(const WrapperPlan& plan, AttentionVariant variant) {
  std::vector<MmPrefixRange> ranges;
  for (MmPrefixRange range : variant.mm_prefix_ranges) {
    const auto found = std::find(plan.requests.begin(), plan.requests.end(), range.req_idx);
    if (found == plan.requests.end()) continue;
    range.req_idx = static_cast<decltype(range.req_idx)>(found - plan.requests.begin());
    ranges.push_back(range);
  }
  variant.mm_prefix_ranges = ranges;
  return variant;
}

// The queries of a wrapper, one after the other.
Tensor gathered(const Tensor& query, const std::vector<std::int64_t>& tokens) {
  const std::int64_t num_rows = static_cast<std::int64_t>(tokens.size());
  Tensor rows(query.dtype(), {num_rows, query.shape()[1], query.shape()[2]});
  const std::int64_t bytes_per_row = rows.size_in_bytes() / num_rows;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t token_idx = tokens[static_cast<std::size_t>(row)];
    std::copy_n(query.bytes() + token_idx * bytes_per_row, bytes_per_row,
                rows.bytes() + row * bytes_per_row);
  }
  return rows;
}

// The results of a wrapper, each to its row of the batch.
void scatter(const Tensor& own_output,
             const Tensor& own_lse,
             const std::vector<std::int64_t>& tokens,
             Tensor& output,
             Tensor& lse) {
  const std::int64_t num_heads = output.shape()[1];
  const std::int64_t num_tokens = output.shape()[0];
  const std::int64_t row_size = num_heads * output.shape()[2];
  const std::int64_t num_rows = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t token_idx = tokens[static_cast<std::size_t>(row)];
    std::copy_n(own_output.data<float>() + row * row_size, row_size,
                output.data<float>() + token_idx * row_size);
    for (std::int64_t head_idx = 0; head_idx < num_heads; ++head_idx) {
      lse.data<float>()[head_idx * num_tokens + token_idx] =
          own_lse.data<float>()[head_idx * num_rows + row];
    }
  }
}

class FlashInferImpl final : public KernelImpl {
 public:
  using KernelImpl::KernelImpl;

 private:
  void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
    const bool reads_own_tokens = batch.variant.attn_type == AttnType::kEncoderOnly;
    const BlockTable table =
        reads_own_tokens ? table_of_own_tokens(batch.metadata) : batch.metadata.block_table;
    const std::int64_t page_size = reads_own_tokens ? 1 : cache().spec().block_size;
    const FlashInferPlan plan =
        plan_flashinfer(batch.metadata, batch.variant.visibility.causal, table, page_size);

    start(batch, output, lse);
    run(plan.decode, Wrapper::kDecode, batch, output, lse);
    run(plan.prefill, Wrapper::kPrefill, batch, output, lse);
  }

  void attend_in_parts(const HostBatch& batch,
                       const CascadeParts& parts,
                       Tensor& output,
                       Tensor& lse) override {
    const CascadePlan plan = plan_flashinfer_cascade(parts, cache().spec().block_size);
    Tensor shared_output;
    Tensor shared_lse;
    start(batch, shared_output, shared_lse);
    run(plan.shared.decode, Wrapper::kSharedDecode, prefix_batch(batch, parts), shared_output,
        shared_lse);
    run(plan.shared.prefill, Wrapper::kPrefill, prefix_batch(batch, parts), shared_output,
        shared_lse);
    start(batch, output, lse);
    run(plan.own.decode, Wrapper::kDecode, suffix_batch(batch, parts), output, lse);
    run(plan.own.prefill, Wrapper::kPrefill, suffix_batch(batch, parts), output, lse);
    merge_into(device(), kernels(), shared_output, shared_lse, output, lse);
  }

  // Rows that are with no wrapper are those of padding.
  void start(const HostBatch& batch, Tensor& output, Tensor& lse) const {
    const std::int64_t num_tokens = batch.query.shape()[0];
    const std::int64_t num_heads = batch.query.shape()[1];
    output = Tensor(DType::kFloat32, {num_tokens, num_heads, cache().spec().head_size_v});
    lse = Tensor(DType::kFloat32, {num_heads, num_tokens});
    std::fill_n(lse.data<float>(), lse.size(), -std::numeric_limits<float>::infinity());
  }

  void run(const WrapperPlan& plan,
           Wrapper wrapper,
           const HostBatch& batch,
           Tensor& output,
           Tensor& lse) const {
    if (plan.requests.empty()) return;
    const CommonAttentionMetadata metadata = metadata_of(plan, batch.metadata);
    const AttentionVariant variant = variant_of(plan, batch.variant);
    const Tensor query = gathered(batch.query, plan.tokens);
    const HostBatch own{query, batch.key, batch.value, metadata, variant};
    const DeviceBatch on_device(device(), own, cache());
    PagedAttentionParams params = on_device.params();
    validate(plan.pages, params.block_size);
    const DevicePages pages(device(), plan.pages);
    params.seq_lens = nullptr;
    params.block_table = pages.paged_kv_indices.as<std::int32_t>();
    params.max_blocks_per_req = plan.pages.max_pages_per_req();
    params.paged_kv_indptr = pages.paged_kv_indptr.as<std::int32_t>();
    params.paged_kv_last_page_len = pages.paged_kv_last_page_len.as<std::int32_t>();
    launch_rung(device(), rung_for(kernels(), wrapper, params), params);

    Tensor own_output;
    Tensor own_lse;
    on_device.copy_results_to(own_output, own_lse);
    scatter(own_output, own_lse, plan.tokens, output, lse);
  }
};

// The decode wrapper of a graph: its pages lie in arrays that stay where they are, and are written anew in each step.
// Batches with longer queries are split between two wrappers, whose sizes a graph would have to know.
// Source: vLLM v1/attention/backends/flashinfer.py, _get_decode_wrapper with use_cudagraph.
class LaunchedDecodes final : public LaunchedAttention {
 public:
  LaunchedDecodes(const std::shared_ptr<Device>& device, const PersistentBatchSizes& sizes)
      : kernels_(kernels_of(*device)),
        page_size_(sizes.cache.block_size),
        paged_kv_indptr_(device, bytes_of(sizes.max_num_reqs + 1), "paged_kv_indptr"),
        paged_kv_indices_(
            device, bytes_of(sizes.max_num_reqs * sizes.max_blocks_per_req), "paged_kv_indices"),
        paged_kv_last_page_len_(device, bytes_of(sizes.max_num_reqs), "paged_kv_last_page_len") {}

  void update(const CommonAttentionMetadata& padded) override {
    if (padded.max_query_len() > 1) return;
    PagedKvTable pages;
    for (std::int64_t req_idx = 0; req_idx < padded.num_reqs(); ++req_idx) {
      append_pages(pages, padded.block_table.row(req_idx),
                   padded.seq_lens[static_cast<std::size_t>(req_idx)], page_size_);
    }
    validate(pages, page_size_);
    paged_kv_indptr_.overwrite(pages.paged_kv_indptr);
    paged_kv_indices_.overwrite(pages.paged_kv_indices);
    paged_kv_last_page_len_.overwrite(pages.paged_kv_last_page_len);
  }
  bool takes(const LaunchShape& shape) const override { return shape.max_query_len <= 1; }
  std::int64_t workspace_floats(const LaunchShape&,
                                const PagedAttentionParams& params) const override {
    return floats_of(rung_for(kernels_, Wrapper::kDecode, params), params);
  }
  void launch(const LaunchShape&, const PagedAttentionParams& of_batch) const override {
    PagedAttentionParams params = of_batch;
    params.seq_lens = nullptr;
    params.block_table = paged_kv_indices_.as<std::int32_t>();
    params.paged_kv_indptr = paged_kv_indptr_.as<std::int32_t>();
    params.paged_kv_last_page_len = paged_kv_last_page_len_.as<std::int32_t>();
    const AttentionRung rung = rung_for(kernels_, Wrapper::kDecode, params);
    rung.launchers.at(params.query_dtype, params.cache_dtype)(params);
  }

 private:
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count) * sizeof(std::int32_t);
  }

  KernelSet kernels_;
  std::int64_t page_size_;
  DeviceArray paged_kv_indptr_;         // [max_num_reqs + 1]
  DeviceArray paged_kv_indices_;        // [max_num_reqs * max_blocks_per_req]
  DeviceArray paged_kv_last_page_len_;  // [max_num_reqs]
};

class FlashInferBackend final : public KernelBackend {
 public:
  using KernelBackend::KernelBackend;

  std::string name() const override { return kName; }
  Precision precision(const AttentionStep& step, std::int64_t req_idx) const override {
    const bool by_decode = is_decode(step.metadata, step.variant.visibility.causal, req_idx);
    const Wrapper wrapper = by_decode ? Wrapper::kDecode : Wrapper::kPrefill;
    return rung_for(kernels_of(*device()), wrapper, launch_sizes(step))
        .precision(step.query.dtype());
  }
  CascadePrecision cascade_precision(const AttentionStep& step, std::int64_t) const override {
    CascadePrecision both;
    for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
      const bool by_decode = is_decode(step.metadata, step.variant.visibility.causal, req_idx);
      const Wrapper shared = by_decode ? Wrapper::kSharedDecode : Wrapper::kPrefill;
      both.prefix.push_back(rung_for(kernels_of(*device()), shared, launch_sizes(step))
                                .precision(step.query.dtype()));
      both.suffix.push_back(precision(step, req_idx));
    }
    return both;
  }
  bool has_own_order() const override { return true; }
  bool has_cascade() const override { return true; }
  std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const override {
    return std::make_unique<FlashInferImpl>(device(), initial_cache);
  }
  std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes& sizes) const override {
    return std::make_unique<LaunchedDecodes>(device(), sizes);
  }
};

}  // namespace

std::unique_ptr<AttentionBackend> make_flashinfer_backend(std::shared_ptr<Device> device) {
  return std::make_unique<FlashInferBackend>(std::move(device));
}

}  // namespace pagelab
