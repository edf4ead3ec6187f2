#include "gpu/kernels/flex/1_block_mask.cuh"

// After those, which say first that the targets' namespaces are inline.
#include "tests/gpu/backends/own_modifiers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

void launch_same_document(const FlexAttentionParams& attention, const std::int32_t* document_of) {
  launch_flex_attention<float>(attention, SameScore{}, SameDocument{document_of});
}

void launch_relative_bias(const FlexAttentionParams& attention,
                          const float* bias,
                          std::int64_t num_distances) {
  launch_flex_attention<float>(attention, RelativeBias{bias, num_distances}, EveryKey{});
}

void launch_local_heads(const FlexAttentionParams& attention) {
  launch_flex_attention<float>(attention, SameScore{}, LocalHeads{});
}

}  // namespace

test::OwnModifiers own_modifiers() {
  return {.same_document = &launch_same_document,
          .relative_bias = &launch_relative_bias,
          .local_heads = &launch_local_heads};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
