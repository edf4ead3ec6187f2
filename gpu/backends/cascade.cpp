#include "gpu/backends/cascade.h"

#include "gpu/backends/kernel_impl.h"

namespace pagelab {

HostBatch prefix_batch(const HostBatch& batch, const CascadeParts& parts) {
  return {batch.query, batch.key, batch.value, parts.prefix, parts.prefix_variant};
}

HostBatch suffix_batch(const HostBatch& batch, const CascadeParts& parts) {
  return {batch.query, batch.key, batch.value, parts.suffix, parts.suffix_variant};
}

MergeStatesParams merge_into_suffix(const PagedAttentionParams& prefix,
                                    const PagedAttentionParams& suffix) {
  return {.prefix_output = prefix.output,
          .prefix_lse = prefix.lse,
          .suffix_output = suffix.output,
          .suffix_lse = suffix.lse,
          .num_tokens = suffix.num_tokens,
          .num_query_heads = suffix.num_query_heads,
          .head_size_v = suffix.head_size_v,
          .output = suffix.output,
          .lse = suffix.lse};
}

void attend_by_rungs(const std::shared_ptr<Device>& device,
                     const KernelSet& kernels,
                     const DeviceKvCache& cache,
                     const HostBatch& batch,
                     const CascadeParts& parts,
                     const CascadeRungs& rungs,
                     Tensor& output,
                     Tensor& lse) {
  // Step 1: all queries over the prefix
  const DeviceBatch prefix(device, prefix_batch(batch, parts), cache);
  launch_rung(device, rungs.prefix, prefix.params());

  // Step 2: each request's queries over its own tokens
  const DeviceBatch suffix(device, suffix_batch(batch, parts), cache);
  launch_rung(device, rungs.suffix, suffix.params());

  // Step 3: merge, into the suffix's results
  kernels.merge_states.launch(merge_into_suffix(prefix.params(), suffix.params()));
  suffix.copy_results_to(output, lse);
}

void merge_into(const std::shared_ptr<Device>& device,
                const KernelSet& kernels,
                const Tensor& prefix_output,
                const Tensor& prefix_lse,
                Tensor& output,
                Tensor& lse) {
  const DeviceArray of_prefix = DeviceArray::copy_of(device, prefix_output, "prefix_output");
  const DeviceArray lse_of_prefix = DeviceArray::copy_of(device, prefix_lse, "prefix_lse");
  const DeviceArray of_suffix = DeviceArray::copy_of(device, output, "suffix_output");
  const DeviceArray lse_of_suffix = DeviceArray::copy_of(device, lse, "suffix_lse");
  kernels.merge_states.launch({.prefix_output = of_prefix.as<float>(),
                               .prefix_lse = lse_of_prefix.as<float>(),
                               .suffix_output = of_suffix.as<float>(),
                               .suffix_lse = lse_of_suffix.as<float>(),
                               .num_tokens = output.shape()[0],
                               .num_query_heads = output.shape()[1],
                               .head_size_v = output.shape()[2],
                               .output = of_suffix.as<float>(),
                               .lse = lse_of_suffix.as<float>()});
  of_suffix.copy_to(output.bytes());
  lse_of_suffix.copy_to(lse.bytes());
}

}  // namespace pagelab
