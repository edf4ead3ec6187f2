// The options of the attention.

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

// Kernels hold these numbers in float32, where a tinier one would be 0 or lose digits, and a larger
// one infinity.
void validate_positive(const char* name, double value) {
  const double smallest = std::numeric_limits<float>::min();
  const double largest = std::numeric_limits<float>::max();
  if (!(value > 0.0 && std::isfinite(value))) {
    refuse("{} is {}, but it must be a positive, finite number.", name, value);
  }
  if (value < smallest || value > largest) {
    refuse("{} is {}, but it must lie within float32's range, {:.3g} to {:.3g}.", name, value,
           smallest, largest);
  }
}

void validate_window_side(const char* side, std::int32_t keys) {
  if (keys < kUnbounded) {
    refuse("sliding_window's {} side is {}, but it is a number of keys, or -1 for no limit.", side,
           keys);
  }
}

void validate_length(const char* name,
                     const std::vector<float>& values,
                     std::int64_t num_query_heads) {
  if (!values.empty() && static_cast<std::int64_t>(values.size()) != num_query_heads) {
    refuse("{} has {} entries, but there are {} query heads.", name, values.size(),
           num_query_heads);
  }
}

// An infinite slope times distance 0 would be NaN.
void validate_slopes(const std::vector<float>& slopes, std::int64_t num_query_heads) {
  validate_length("alibi_slopes", slopes, num_query_heads);
  for (std::size_t head_idx = 0; head_idx < slopes.size(); ++head_idx) {
    if (!std::isfinite(slopes[head_idx])) {
      refuse("alibi_slopes[{}] is {}, but a slope must be finite.", head_idx, slopes[head_idx]);
    }
  }
}

// A sink of −∞ is no sink: exp(−∞) = 0. One of +∞ would be the maximum, and exp(∞ − ∞) is NaN.
void validate_sinks(const std::vector<float>& sinks, std::int64_t num_query_heads) {
  validate_length("sinks", sinks, num_query_heads);
  for (std::size_t head_idx = 0; head_idx < sinks.size(); ++head_idx) {
    if (!(sinks[head_idx] < std::numeric_limits<float>::infinity())) {
      refuse("sinks[{}] is {}, but a sink must be finite, or -inf for none.", head_idx,
             sinks[head_idx]);
    }
  }
}

// Rows of all −1 or all 0 positions fill up an array of ranges; nothing in them counts.
bool is_padding(const MmPrefixRange& range) {
  return range.first == range.last && (range.first == -1 || range.first == 0);
}

void validate_range(std::size_t index, const MmPrefixRange& range, std::int64_t num_reqs) {
  if (range.req_idx < 0 || range.req_idx >= num_reqs) {
    refuse("mm_prefix_ranges[{}] names request {}, but there are {} requests.", index,
           range.req_idx, num_reqs);
  }
  if (range.first < 0) {
    refuse("mm_prefix_ranges[{}] starts at position {}, but positions start at 0.", index,
           range.first);
  }
  if (range.last < range.first) {
    refuse("mm_prefix_ranges[{}] ends at position {}, before its first position {}.", index,
           range.last, range.first);
  }
}

void validate_ranges(const std::vector<MmPrefixRange>& ranges, std::int64_t num_reqs) {
  std::vector<std::size_t> in_order;
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    if (is_padding(ranges[index])) continue;
    validate_range(index, ranges[index], num_reqs);
    in_order.push_back(index);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [&](std::size_t a, std::size_t b) {
    const MmPrefixRange& first = ranges[a];
    const MmPrefixRange& second = ranges[b];
    return first.req_idx != second.req_idx ? first.req_idx < second.req_idx
                                           : first.first < second.first;
  });
  for (std::size_t index = 1; index < in_order.size(); ++index) {
    const MmPrefixRange& before = ranges[in_order[index - 1]];
    const MmPrefixRange& after = ranges[in_order[index]];
    if (before.req_idx == after.req_idx && after.first <= before.last) {
      refuse(
          "mm_prefix_ranges[{}] (positions {} to {}) and mm_prefix_ranges[{}] (positions {} to {}) "
          "of request {} overlap.",
          in_order[index - 1], before.first, before.last, in_order[index], after.first, after.last,
          before.req_idx);
    }
  }
}

// The encoder types see both ways; cross attention has no common positions either.
void validate_attn_type(const AttentionVariant& variant) {
  const AttnType type = variant.attn_type;
  const VisibilityRule& rule = variant.visibility;
  if (type == AttnType::kDecoder) return;
  if (type != AttnType::kEncoderOnly && type != AttnType::kEncoderDecoder) {
    refuse("attn_type is {}, but it must be decoder, encoder_only or encoder_decoder.",
           static_cast<int>(type));
  }
  if (rule.causal) {
    refuse("attn_type is {}, which is never causal, but causal is true.", to_string(type));
  }
  if (type == AttnType::kEncoderOnly) return;
  if (rule.window_left != kUnbounded || rule.window_right != kUnbounded) {
    refuse(
        "attn_type is encoder_decoder, whose queries and keys share no positions, but "
        "sliding_window is [{}, {}].",
        rule.window_left, rule.window_right);
  }
  if (!variant.alibi_slopes.empty()) {
    refuse(
        "attn_type is encoder_decoder, whose queries and keys share no positions, but alibi_slopes "
        "are given.");
  }
  if (!variant.mm_prefix_ranges.empty()) {
    refuse(
        "attn_type is encoder_decoder, whose queries and keys share no positions, but "
        "mm_prefix_ranges are given.");
  }
}

}  // namespace

void validate(const AttentionVariant& variant,
              std::int64_t num_query_heads,
              const CommonAttentionMetadata& metadata) {
  validate_attn_type(variant);
  validate_positive("scale", variant.scale);
  if (variant.logit_softcap) validate_positive("logit_softcap", *variant.logit_softcap);
  validate_window_side("left", variant.visibility.window_left);
  validate_window_side("right", variant.visibility.window_right);
  validate_slopes(variant.alibi_slopes, num_query_heads);
  validate_sinks(variant.sinks, num_query_heads);
  validate_ranges(variant.mm_prefix_ranges, metadata.num_reqs());
}

}  // namespace pagelab
