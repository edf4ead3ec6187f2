/// \file
/// FLEX_ATTENTION: attention whose masks and scores are callables, and paging a matter of masks.
///
/// What it keeps of vLLM's: the whole cache is one sequence of physical positions; an inverse block table says
/// which of them are whose, and which logical position each is (gpu/backends/flex_block_mask.h); a block mask
/// lists what groups of 16 query rows have to visit; the kernel evaluates mask_mod and score_mod, which see
/// logical positions, in every listed block.
///
/// What differs: masks are exact (vLLM's pruning looks at causality and window, and may drop a future block
/// that a prefix-LM range shows); blocks come in each row's own logical order, where vLLM keeps that of first
/// occurrence, so that a row's bits do not depend on its neighbours; block 0 is a block like any other, because
/// a step folder may use it. What vLLM's lacks and this has: soft cap and ALiBi, as a score_mod; sinks; float64
/// and fp8 caches; head-first layouts. What it leaves out, where each layer is called by itself: sharing the block mask
/// between layers. Over persistent arrays (launched_attention.h) it is built once a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "gpu/backends/flex_block_mask.h"
#include "gpu/backends/kernel_impl.h"
#include "gpu/kernels/flex/params.h"

namespace pagelab {

/// Modifiers besides those of the contract, for one forward pass.
struct FlexModifiers {
  /// Which pairs there are, asked on the host for the block mask: the same as the kernel's mask_mod.
  HostMask mask_mod;
  /// Launches the kernel that was compiled with both modifiers, on the device of the backend: calls
  /// launch_flex_attention (gpu/kernels/flex/1_block_mask.cuh) in a kernel source of the user's own.
  std::function<void(const FlexAttentionParams& attention)> launch;
};

/// Makes the modifiers of a forward pass.
using FlexModifiersOf = std::function<FlexModifiers(const HostBatch& batch)>;

/// The backend FLEX_ATTENTION on a device. It accepts every dtype, layout and variant of the contract, but
/// refuses a table in which a request has a block twice, and heads of more than 256 elements; its output is
/// float32.
/// \param device        where the cache lies and the kernels run
/// \param modifiers_of  called in every forward pass, or nullptr for the contract alone. Its precision is known
///                      for the contract alone, too.
std::unique_ptr<AttentionBackend> make_flex_attention_backend(
    std::shared_ptr<Device> device, FlexModifiersOf modifiers_of = nullptr);

}  // namespace pagelab
