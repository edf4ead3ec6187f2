#include "gpu/backends/cpu_attn/cpu_attn.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gpu/backends/cpu_attn/division.h"
#include "gpu/backends/cpu_attn/finish.h"
#include "gpu/backends/cpu_attn/params.h"
#include "gpu/backends/cpu_attn/threads.h"
#include "gpu/backends/cpu_attn/widths.h"
#include "reference/cache/cache_write.h"
#include "reference/contract/own_tokens.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

using namespace cpu_attn;

constexpr int kMaxThreads = 1024;

/// Products query · key from which a second thread is worth its start: some 50 µs of work.
constexpr double kProductsForThreads = 1 << 14;

// Roundings that a term of the sums over n keys passes besides those of one chain of n. The visible keys
// are neighbours, so they lie in at most n/64 + 2 tiles, and each tile after a term's own costs it 4: the
// factor's exponential (0.8 ulp, so 2), its product, the sum. They lie in n/1024 + 2 partitions; a merge
// costs 4 likewise, and the sink 4. With the chain inside a tile:
//   min(n, 64) + 4 (n/64 + 1) + 4 (n/1024 + 1) + 4  <=  n + 16  for every n (closest at n = 64).
// What the exponents of these factors lose adds up to what the bound allows one exponent of the whole
// distance, since the distances add up.
constexpr std::int64_t kExtraRoundings = 16;

class CpuAttnImpl final : public AttentionImpl {
 public:
  CpuAttnImpl(int num_threads, AttendTask attend_task, const KvCache& initial_cache)
      : num_threads_(num_threads), attend_task_(attend_task), cache_(initial_cache) {
    validate(cache_);
    for (std::int64_t head_idx = 0; head_idx < cache_.spec().num_kv_heads; ++head_idx) {
      k_scales_.push_back(cache_.k_scale_of(head_idx));
      v_scales_.push_back(cache_.v_scale_of(head_idx));
    }
  }

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
    reshape_and_cache(key, value, slot_mapping, cache_);
  }

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    validate(query, key, value, cache_.spec());
    validate(metadata, variant.attn_type, query.shape()[0], cache_.spec(), StepUse::kAttend);
    validate(variant, query.shape()[1], metadata);
    const std::int64_t num_tokens = query.shape()[0];
    output = Tensor(DType::kFloat32, {num_tokens, query.shape()[1], cache_.spec().head_size_v});
    lse = Tensor(DType::kFloat32, {query.shape()[1], num_tokens});
    std::fill_n(lse.data<float>(), lse.size(), -std::numeric_limits<float>::infinity());

    Params params;
    set_sizes(params, query, metadata);
    set_variant(params, variant);
    params.output = output.data<float>();
    params.lse = lse.data<float>();
    if (variant.attn_type == AttnType::kEncoderOnly) {
      const BlockTable table = table_of_own_tokens(metadata);
      set_own_tokens(params, key, value, table);
      attend(params);
    } else {
      set_cache(params, metadata.block_table);
      attend(params);
    }
  }

  KvCache kv_cache() const override { return cache_; }

 private:
  void set_sizes(Params& params,
                 const Tensor& query,
                 const CommonAttentionMetadata& metadata) const {
    params.query = query.bytes();
    params.query_dtype = query.dtype();
    params.num_tokens = query.shape()[0];
    params.num_query_heads = query.shape()[1];
    params.num_kv_heads = cache_.spec().num_kv_heads;
    params.head_size = cache_.spec().head_size;
    params.head_size_v = cache_.spec().head_size_v;
    params.num_reqs = metadata.num_reqs();
    params.query_start_loc = metadata.query_start_loc.data();
    params.seq_lens = metadata.seq_lens.data();
    params.k_scales = k_scales_.data();
    params.v_scales = v_scales_.data();
  }

  static void set_variant(Params& params, const AttentionVariant& variant) {
    params.scale = static_cast<float>(variant.scale);
    params.visibility = variant.visibility;
    if (variant.attn_type == AttnType::kEncoderDecoder) {
      params.visibility = {.causal = false};  // queries and keys have no common positions
    }
    params.has_softcap = variant.logit_softcap.has_value();
    params.logit_softcap = static_cast<float>(variant.logit_softcap.value_or(0.0));
    if (!variant.alibi_slopes.empty()) params.alibi_slopes = variant.alibi_slopes.data();
    if (!variant.sinks.empty()) params.sinks = variant.sinks.data();
    params.mm_prefix_ranges = variant.mm_prefix_ranges.data();
    params.num_mm_prefix_ranges = static_cast<std::int64_t>(variant.mm_prefix_ranges.size());
  }

  void set_cache(Params& params, const BlockTable& table) const {
    params.keys = cache_.key_data();
    params.key_strides = cache_.key_strides();
    params.values = cache_.value_data();
    params.value_strides = cache_.value_strides();
    params.kv_dtype = cache_.spec().dtype;
    params.block_size = cache_.spec().block_size;
    params.block_table = table.entries.data();
    params.max_blocks_per_req = table.max_blocks_per_req;
  }

  static void set_own_tokens(Params& params,
                             const Tensor& key,
                             const Tensor& value,
                             const BlockTable& table) {
    params.keys = key.bytes();
    params.key_strides = {.block = params.num_kv_heads * params.head_size,
                          .head = params.head_size};
    params.values = value.bytes();
    params.value_strides = {.block = params.num_kv_heads * params.head_size_v,
                            .head = params.head_size_v};
    params.kv_dtype = key.dtype();
    params.block_size = 1;
    params.block_table = table.entries.data();
    params.max_blocks_per_req = table.max_blocks_per_req;
  }

  // All memory is allocated here, before the threads begin.
  void attend(Params& params) const {
    const Division division = divide(params);
    if (division.tasks.empty()) return;
    const int num_threads = division.num_products < kProductsForThreads ? 1 : num_threads_;
    std::vector<Scratch> scratches;
    scratches.reserve(static_cast<std::size_t>(num_threads));
    for (int thread = 0; thread < num_threads; ++thread) scratches.emplace_back(params);
    AlignedFloats partial_m(division.num_partial_rows);
    AlignedFloats partial_l(division.num_partial_rows);
    AlignedFloats partial_acc(division.num_partial_rows * params.head_size_v);
    params.partial_m = partial_m.data();
    params.partial_l = partial_l.data();
    params.partial_acc = partial_acc.data();

    const std::int64_t num_tasks = static_cast<std::int64_t>(division.tasks.size());
    for_each_item(num_tasks, num_threads, [&](std::int64_t item, int thread) {
      attend_task_(params, division.tasks[item], scratches[thread]);
    });
    const std::int64_t num_merges = static_cast<std::int64_t>(division.merges.size());
    for_each_item(num_merges, 1, [&](std::int64_t item, int) {
      merge_parts(params, division.merges[item].first_part, division.merges[item].num_parts);
    });
  }

  int num_threads_;
  AttendTask attend_task_;
  KvCache cache_;
  std::vector<float> k_scales_;  // [num_kv_heads]
  std::vector<float> v_scales_;  // [num_kv_heads]
};

class CpuAttnBackend final : public AttentionBackend {
 public:
  CpuAttnBackend(int num_threads, AttendTask attend_task)
      : num_threads_(num_threads), attend_task_(attend_task) {}

  std::string name() const override { return "CPU_ATTN"; }
  std::string target() const override { return "cpu"; }
  Precision precision(const AttentionStep&, std::int64_t) const override {
    Precision precision = Precision::canonical_float();
    precision.extra_roundings = kExtraRoundings;
    return precision;
  }
  bool has_own_order() const override { return true; }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return std::make_unique<CpuAttnImpl>(num_threads_, attend_task_, initial_cache);
  }

 private:
  int num_threads_;
  AttendTask attend_task_;
};

}  // namespace

std::unique_ptr<AttentionBackend> make_cpu_attn_backend(int num_threads, CpuAttnWidth width) {
  if (num_threads < 0 || num_threads > kMaxThreads) {
    throw Error(
        fmt::format("num_threads is {}, but CPU_ATTN takes 1 to {}, or 0 for as many as "
                    "there are CPUs.",
                    num_threads, kMaxThreads));
  }
  if (width == CpuAttnWidth::kAvx512 && !has_avx512()) {
    throw Error("width is kAvx512, but this processor has no AVX-512; kAvx2 gives the same bits.");
  }
  const bool is_wide = width != CpuAttnWidth::kAvx2 && has_avx512();
  return std::make_unique<CpuAttnBackend>(num_threads == 0 ? num_usable_cpus() : num_threads,
                                          is_wide ? &avx512::attend_task : &avx2::attend_task);
}

}  // namespace pagelab
