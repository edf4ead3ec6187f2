// The cascades of `pagelab measure attention`: decodes with a common prefix, attended in three launches on arrays that
// stay on the device. FLASH_ATTN's read block tables, FLASHINFER's the lists of pages that it plans.

#include <cmath>
#include <utility>

#include "cli/measurements.h"
#include "gpu/backends/cascade.h"
#include "gpu/backends/flashinfer_plan.h"
#include "gpu/backends/kernels_of.h"
#include "reference/attention/cascade.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

// A launch with what it needs, its workspace included.
class PreparedLaunch {
 public:
  PreparedLaunch(const DevicePtr& device, AttentionRung rung, const PagedAttentionParams& params)
      : rung_(std::move(rung)), params_(params) {
    params_.workspace_floats =
        rung_.workspace_floats != nullptr ? rung_.workspace_floats(params_) : 0;
    workspace_ =
        DeviceArray(device, static_cast<std::size_t>(params_.workspace_floats) * 4, "workspace");
    params_.workspace = workspace_.as<float>();
  }

  void operator()() const { rung_.launchers.at(params_.query_dtype, params_.cache_dtype)(params_); }

 private:
  AttentionRung rung_;
  PagedAttentionParams params_;
  DeviceArray workspace_;
};

// A wrapper's pages in device memory, which it reads in place of block table and lengths.
class Pages {
 public:
  Pages(const DevicePtr& device, const PagedKvTable& pages)
      : max_pages_(pages.max_pages_per_req()),
        indptr_(DeviceArray::copy_of(device, pages.paged_kv_indptr, "paged_kv_indptr")),
        indices_(DeviceArray::copy_of(device, pages.paged_kv_indices, "paged_kv_indices")),
        last_len_(
            DeviceArray::copy_of(device, pages.paged_kv_last_page_len, "paged_kv_last_page_len")) {}

  PagedAttentionParams in_place_of_tables(PagedAttentionParams params) const {
    params.seq_lens = nullptr;
    params.block_table = indices_.as<std::int32_t>();
    params.max_blocks_per_req = max_pages_;
    params.paged_kv_indptr = indptr_.as<std::int32_t>();
    params.paged_kv_last_page_len = last_len_.as<std::int32_t>();
    return params;
  }

 private:
  std::int64_t max_pages_;
  DeviceArray indptr_, indices_, last_len_;
};

AttentionVariant plain_variant(const MeasuredLayer& layer) {
  AttentionVariant variant;
  variant.scale = 1.0 / std::sqrt(static_cast<double>(layer.head_size));
  return variant;
}

// The step, and both of its parts on the device.
struct SharedPrefixBatch {
  SharedPrefixBatch(const DevicePtr& device, const MeasuredShape& shape, const MeasuredLayer& layer)
      : query(measured_numbers({shape.num_tokens(), layer.num_query_heads, layer.head_size},
                               layer.dtype)),
        key(measured_numbers({shape.num_tokens(), layer.num_kv_heads, layer.head_size},
                             layer.dtype)),
        metadata(metadata_of(shape, layer)),
        variant(plain_variant(layer)),
        batch{query, key, key, metadata, variant},
        parts(split_cascade(
            metadata, variant, layer.block_size, shape.prefix_len / layer.block_size)),
        plan(plan_flashinfer_cascade(parts, layer.block_size)),
        cache(device, measured_cache(num_blocks_of(shape, layer), layer)),
        prefix(device, prefix_batch(batch, parts), cache),
        suffix(device, suffix_batch(batch, parts), cache),
        prefix_pages(device, plan.shared.decode.pages),
        suffix_pages(device, plan.own.decode.pages) {}

  // Into the suffix's results.
  MergeStatesParams merge() const { return merge_into_suffix(prefix.params(), suffix.params()); }

  Tensor query, key;
  CommonAttentionMetadata metadata;
  AttentionVariant variant;
  HostBatch batch;
  CascadeParts parts;
  CascadePlan plan;
  DeviceKvCache cache;
  DeviceBatch prefix, suffix;
  Pages prefix_pages, suffix_pages;
};

Measurement measured(const std::string& backend,
                     const DevicePtr& device,
                     const Measurement& row,
                     const SharedPrefixBatch& batch,
                     const PagedAttentionParams& prefix_params,
                     const PagedAttentionParams& suffix_params) {
  Measurement measurement = row;
  measurement.name = "cascade as " + backend;
  try {
    const KernelSet kernels = kernels_of(*device);
    const PreparedLaunch prefix(
        device, first_that_takes(backend, prefix_rungs(kernels), prefix_params), prefix_params);
    const PreparedLaunch suffix(
        device, first_that_takes(backend, split_kv_rungs(kernels), suffix_params), suffix_params);
    measure_launches(measurement, *device, [&] {
      prefix();
      suffix();
      kernels.merge_states.launch(batch.merge());
    });
  } catch (const Error& error) {
    measurement.refusal = error.what();
  }
  return measurement;
}

}  // namespace

std::vector<Measurement> measure_cascades(const DevicePtr& device,
                                          const MeasuredShape& shape,
                                          const MeasuredLayer& layer) {
  const SharedPrefixBatch batch(device, shape, layer);
  const PagedAttentionParams& prefix = batch.prefix.params();
  const PagedAttentionParams& suffix = batch.suffix.params();
  Measurement row;
  row.is_kernel = true;
  row.shape = shape.name;
  row.work = work_of(shape, layer, 4);
  return {measured("FLASH_ATTN", device, row, batch, prefix, suffix),
          measured("FLASHINFER", device, row, batch, batch.prefix_pages.in_place_of_tables(prefix),
                   batch.suffix_pages.in_place_of_tables(suffix))};
}

}  // namespace pagelab::cli
