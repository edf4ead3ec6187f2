/// \file
/// What a backend says of itself, as a row of the catalogue: dtypes, sizes, features, and rules for
/// what depends on the question. A row that says nothing claims no optional feature.
/// The predicates below run a row's facts against a question.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/registry/selection_question.h"

namespace pagelab {

/// A fact that is either a value or a rule: a named function of the question.
template <typename Value>
class Fact {
 public:
  /// Computes the value for one question.
  using Rule = Value (*)(const SelectionQuestion&);
  Fact(Value value) : value_(std::move(value)) {}  ///< the same for every question
  Fact(Rule rule) : rule_(rule) {}                 ///< depends on the question

  /// The value for one question.
  Value operator()(const SelectionQuestion& question) const {
    return rule_ == nullptr ? value_ : rule_(question);
  }
  /// Whether a rule computes it.
  bool depends_on_question() const { return rule_ != nullptr; }

 private:
  Value value_{};
  Rule rule_ = nullptr;
};

/// Head sizes that a kernel has been built for: those listed or, without a list, a range.
struct HeadSizes {
  std::vector<std::int64_t> listed = {};                         ///< if not empty, these alone
  std::int64_t least = 0;                                        ///< else: not below this,
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  ///< not above this,
  std::int64_t multiple_of = 1;                                  ///< and a multiple of this

  /// Whether a head size is among them.
  bool contain(std::int64_t head_size) const;
};

/// A block size that a kernel can page with: exactly this, or any multiple of it.
struct KernelBlockSize {
  std::int64_t size = 1;  ///< tokens
  bool any_multiple =
      false;  ///< the kernel itself takes multiples; else the cache's block is cut up
  bool operator==(const KernelBlockSize&) const = default;  ///< same size, same kind
};

/// Any multiple of `size` tokens.
constexpr KernelBlockSize multiple_of(std::int64_t size) { return {size, true}; }
/// `size` tokens.
constexpr KernelBlockSize fixed(std::int64_t size) { return {size, false}; }

/// Kernel block sizes in the backend's own order.
using KernelBlockSizes = std::vector<KernelBlockSize>;

/// GPU generations, both ends included.
struct CapabilityRange {
  DeviceCapability least;  ///< the oldest
  DeviceCapability most;   ///< the newest
};

/// How much of a step can be recorded in a CUDA graph. The values are vLLM's; more is better.
/// \source vLLM v1/attention/backend.py, AttentionCGSupport
enum class AttentionCGSupport : std::uint8_t {
  kNever = 0,                     ///< NEVER
  kUniformSingleTokenDecode = 1,  ///< UNIFORM_SINGLE_TOKEN_DECODE: one query token a request
  kUniformBatch = 2,              ///< UNIFORM_BATCH: as many query tokens in every request
  kAlways = 3,                    ///< ALWAYS: any batch, prefill and decode mixed
};

/// Settings of a run that no choice of backend depends on, but what can be recorded does.
struct CudagraphRun {
  std::int64_t num_speculative_tokens = 0;  ///< draft tokens a request and step
  bool clamps_window_to_mm_prefix = false;  ///< windows end where an image's prefix mask begins
};
/// What a backend can record, where that is computed when it is built.
using CudagraphRule = AttentionCGSupport (*)(const SelectionQuestion&, const CudagraphRun&);

/// Up to which query length a request counts as a decode when a batch is reordered.
struct ReorderThreshold {
  std::optional<int> class_value = {};  ///< what the builder's class says; none: no reordering
  std::string_view query_len_support;   ///< MLA builders: "SINGLE_ONLY", "UNIFORM" or "VARLEN"
  std::string_view in_constructor;      ///< in words, what the builder makes of it when it is made
};

/// The logical page of a layer's cache: [B, H, N, C].
struct KvPage {
  std::string_view blocks;   ///< B
  std::string_view heads;    ///< H, head slots
  std::string_view states;   ///< N, stored states, one a token
  std::string_view content;  ///< C, elements of one state
  std::string_view meaning;  ///< of C, in words
};

/// The log-sum-exp that a decode returns.
struct DecodeLse {
  bool returned = false;    ///< whether it is
  bool natural_log = true;  ///< else its base is 2
};

/// Why a record's fields do not go together; none if they do.
using CombinationRule = std::optional<std::string> (*)(const SelectionQuestion&);
struct BackendFacts;
/// Whether a row accepts something, where its list does not say it.
using AcceptanceRule = bool (*)(const BackendFacts&, const SelectionQuestion&);

/// All generations.
inline const std::vector<CapabilityRange> kAnyCapability = {{{0, 0}, {99, 99}}};
/// What kernel block sizes are unless a row says otherwise.
inline const KernelBlockSizes kAnyBlockSize = {multiple_of(1)};

/// One row.
struct BackendFacts {
  std::string_view name = {};                 ///< the enum's member: what users write
  std::optional<std::string_view> path = {};  ///< of the class; none or empty: must be registered
  std::string_view family = {};               ///< "ordinary", "mla", "rocm", ...
  std::string_view description = {};          ///< one sentence
  std::string_view package = {};              ///< what has to be installed
  std::string_view class_name = {};           ///< of the backend; empty: there is none to load
  std::string_view get_name = {};             ///< what the class calls itself: not always `name`

  std::vector<std::string_view> dtypes = {"float16", "bfloat16"};                   ///< activations
  std::vector<std::string_view> kv_cache_dtypes = {"auto", "float16", "bfloat16"};  ///< caches
  bool needs_kv_cache_dtype = false;             ///< refuses a cache dtype that is not known
  AcceptanceRule kv_cache_dtype_rule = nullptr;  ///< instead of the list alone
  Fact<KernelBlockSizes> kernel_block_sizes = kAnyBlockSize;  ///< what the kernels page with
  bool exact_block_size = false;  ///< a multiple of a kernel block size is not good enough
  std::optional<std::int64_t> favourite_block_size = {};  ///< taken even where the default would do
  std::optional<std::int64_t> fallback_block_size =
      {};                                    ///< taken where it will not; else the least
  Fact<HeadSizes> head_sizes = HeadSizes{};  ///< elements of a head
  std::vector<CapabilityRange> capabilities = kAnyCapability;  ///< GPUs; empty: none under CUDA
  /// Of a composite: it also accepts no head size or GPU that one of these does not.
  std::vector<const BackendFacts*> children = {};

  Fact<bool> is_mla = false;                          ///< serves MLA layers, and no others
  Fact<bool> is_sparse = false;                       ///< serves sparse layers, and no others
  Fact<bool> is_ssm = false;                          ///< keeps a recurrent state
  Fact<bool> supports_sink = false;                   ///< attention sinks
  Fact<bool> supports_alibi_sqrt = false;             ///< ALiBi of the root of the distance
  Fact<bool> supports_mm_prefix = false;              ///< prefix masks
  Fact<bool> supports_per_head_quant_scales = false;  ///< a scale for every head
  Fact<bool> supports_sliding_window = false;         ///< windows
  Fact<bool> supports_rswa = false;                   ///< windows that keep the prompt visible
  Fact<bool> supports_non_causal = false;             ///< no mask
  Fact<bool> supports_batch_invariance = false;       ///< same bits in every batch
  Fact<bool> supports_kv_connector = false;           ///< blocks sent and fetched
  Fact<bool> supports_pcp = false;                    ///< prefill context parallelism
  Fact<bool> supports_dcp = false;                    ///< decode context parallelism
  Fact<bool> supports_non_causal_dcp = false;         ///< both at once, in MLA
  Fact<bool> supports_device_cpu_query_lens_mismatch = false;         ///< adaptive verification
  std::vector<AttentionType> attn_types = {AttentionType::kDecoder};  ///< whose keys

  CombinationRule supports_combination = nullptr;      ///< at most one reason, after all others
  CombinationRule reason_after_all = nullptr;          ///< one more, after that
  std::vector<std::string_view> missing_imports = {};  ///< without these it cannot be imported

  std::optional<Fact<AttentionCGSupport>> cudagraph = {};  ///< what the class says; none: computed
  CudagraphRule cudagraph_rule = nullptr;                  ///< what it computes, if it does
  std::string_view cudagraph_depends = {};                 ///< in words, on what
  ReorderThreshold reorder_batch_threshold = {};           ///< which requests count as decodes
  std::optional<KvPage> kv_page = {};                      ///< none: an opaque state
  std::string_view quantised_page = {};                    ///< in words, with a quantised cache
  int block_stride_multiple = 0;  ///< rows that a block's stride must be a multiple of; 0: any
  std::vector<std::string_view> kv_cache_layouts = {};        ///< physical orders; empty: any
  std::vector<std::string_view> kv_cache_layouts_on_10 = {};  ///< on major 10, if others
  bool forward_includes_kv_cache_update = true;               ///< stores the new tokens by itself
  std::optional<DecodeLse> decode_lse = DecodeLse{};  ///< none: it has no implementation class
  std::optional<int> head_size_v_default = {};        ///< width of a value head, if it may differ
  std::string_view notes = {};                        ///< what else there is to know
};

/// Whether a row accepts the question's head size.
bool supports_head_size(const BackendFacts& facts, const SelectionQuestion& question);
/// Whether a row accepts the activations' dtype.
bool supports_dtype(const BackendFacts& facts, const SelectionQuestion& question);
/// Whether a row accepts the cache's dtype. One that is not known passes, as a rule.
bool supports_kv_cache_dtype(const BackendFacts& facts, const SelectionQuestion& question);
/// Whether a row accepts the block size that the user gave: it must be a multiple of one that the
/// kernels page with. None given passes, unless there is no kernel block size at all.
bool supports_block_size(const BackendFacts& facts, const SelectionQuestion& question);
/// Whether a row runs on the question's GPU.
bool supports_compute_capability(const BackendFacts& facts, const SelectionQuestion& question);
/// Whether a row serves the kind of attention.
bool supports_attn_type(const BackendFacts& facts, const SelectionQuestion& question);

/// The block size that the engine takes if the user leaves it open.
/// \param facts               the row
/// \param question            its block size does not count
/// \param default_block_size  the engine's own, 16; kept if the row accepts it
/// \source vLLM v1/attention/backend.py, get_preferred_block_size
std::int64_t preferred_block_size(const BackendFacts& facts,
                                  const SelectionQuestion& question,
                                  std::int64_t default_block_size);

/// Whether a name is in a row's list of cache dtypes: what most rows go by.
bool lists_kv_cache_dtype(const BackendFacts& facts, const std::string& kv_cache_dtype);

}  // namespace pagelab
