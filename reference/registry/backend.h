/// \file
/// The interface behind which every implementation of attention stands. A backend makes one
/// `AttentionImpl` a layer; the impl owns that layer's cache, in its target's memory, and does two
/// things with it: store new tokens, and attend.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/numerics/cascade_bound.h"
#include "reference/numerics/error_bound.h"

namespace pagelab {

/// What one attention call returns.
struct AttentionResult {
  Tensor output;  ///< [T, num_query_heads, head_size_v], the backend's output dtype; padding rows 0
  Tensor lse;     ///< [num_query_heads, T], natural log, float64 or float32; padding rows −∞
  KvCache cache;  ///< after the step's tokens were written
};

/// One layer's attention and its cache.
/// \source vLLM v1/attention/backend.py, AttentionImpl
class AttentionImpl {
 public:
  virtual ~AttentionImpl() = default;

  /// Stores new keys and values.
  /// \param key           [T, num_kv_heads, head_size], any activation dtype
  /// \param value         [T, num_kv_heads, head_size_v]
  /// \param slot_mapping  [T] kNoSlot stores nothing
  /// \throws Error        if a shape, dtype or slot does not fit the cache
  virtual void do_kv_cache_update(const Tensor& key,
                                  const Tensor& value,
                                  const std::vector<std::int64_t>& slot_mapping) = 0;

  /// Attends over the cache (over `key` and `value` for AttnType::kEncoderOnly).
  /// \param query     [T, num_query_heads, head_size]
  /// \param key       [T, num_kv_heads, head_size], read for kEncoderOnly alone
  /// \param value     [T, num_kv_heads, head_size_v], read for kEncoderOnly alone
  /// \param metadata  the batch; queries longer than their sequence are legal here
  /// \param variant   the kind of attention
  /// \param output    set to [T, num_query_heads, head_size_v]
  /// \param lse       set to [num_query_heads, T]
  /// \throws Error    for an inconsistent step, or a variant that the backend does not support
  virtual void forward(const Tensor& query,
                       const Tensor& key,
                       const Tensor& value,
                       const CommonAttentionMetadata& metadata,
                       const AttentionVariant& variant,
                       Tensor& output,
                       Tensor& lse) = 0;

  /// The same in two parts: all queries at once over the blocks with which all requests begin, each request over the
  /// rest, and a merge (reference/attention/cascade.h).
  /// \param query     [T, num_query_heads, head_size]
  /// \param key       [T, num_kv_heads, head_size], not read
  /// \param value     [T, num_kv_heads, head_size_v], not read
  /// \param metadata  the batch
  /// \param variant   the kind of attention: a decoder's, without a window, ALiBi or prefix-LM ranges
  /// \param num_common_prefix_blocks  leading blocks that all requests with a query share, at least 1
  /// \param output    set to [T, num_query_heads, head_size_v]
  /// \param lse       set to [num_query_heads, T]
  /// \throws Error    as forward; for what split_cascade refuses; and for a backend that has no cascade
  /// \source vLLM 0.20.2, v1/attention/backends/flash_attn.py, forward with use_cascade
  virtual void forward_cascade(const Tensor& query,
                               const Tensor& key,
                               const Tensor& value,
                               const CommonAttentionMetadata& metadata,
                               const AttentionVariant& variant,
                               std::int64_t num_common_prefix_blocks,
                               Tensor& output,
                               Tensor& lse);

  /// The cache, copied back to the host.
  virtual KvCache kv_cache() const = 0;
};

/// What a backend without cascade attention says.
/// \throws Error  always
[[noreturn]] void refuse_cascade();

/// A way to compute attention, on one target.
/// \source vLLM v1/attention/backend.py, AttentionBackend
class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;

  virtual std::string name() const = 0;    ///< "REFERENCE", "NAIVE", ...: one name everywhere
  virtual std::string target() const = 0;  ///< "cpu", "simulator" or "cuda"

  /// The types it computes the rows of a request in: what error_bound needs to say how far they may be from the
  /// exact ones. A backend may have several kernels, and choose by the types, the batch or the request.
  virtual Precision precision(const AttentionStep& step, std::int64_t req_idx) const = 0;

  /// The same of forward_cascade: what cascade_error_bound needs.
  /// \throws Error  for a backend that has no cascade, or what split_cascade refuses
  virtual CascadePrecision cascade_precision(const AttentionStep& step,
                                             std::int64_t num_common_prefix_blocks) const;

  /// Whether it sums in an order of its own. In the canonical order, float32 results have the very bits of
  /// REFERENCE_FLOAT.
  virtual bool has_own_order() const { return false; }

  /// Whether it has forward_cascade.
  virtual bool has_cascade() const { return false; }

  /// An impl for one layer, whose cache starts with these contents.
  virtual std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const = 0;
};

/// Validates a step, stores its tokens and attends: the whole contract of a paged kernel.
/// \throws Error  if the step is inconsistent or the backend cannot do it
AttentionResult attend(const AttentionStep& step, const AttentionBackend& backend);

/// attend, in two parts: AttentionImpl::forward_cascade.
/// \param step                      as for attend
/// \param num_common_prefix_blocks  leading blocks that all requests with a query share, at least 1
/// \param backend                   does the work
/// \throws Error  if the step is inconsistent, the prefix is not common, or the backend cannot do it
AttentionResult attend_cascade(const AttentionStep& step,
                               std::int64_t num_common_prefix_blocks,
                               const AttentionBackend& backend);

/// How far the results of a backend may be from those of the reference in double.
/// \param step     its cache already holds this step's tokens: it is read as it stands
/// \param backend  whose precision counts
/// \throws Error   if the step is inconsistent
ErrorBound error_bound(const AttentionStep& step, const AttentionBackend& backend);

}  // namespace pagelab
