/// \file
/// Attention over a paged cache, in two forms. By gather: copy a request's keys and values into
/// order, then attend as ever. In place: read each block where it lies, which is what kernels do.
/// Paging changes addresses and nothing else, so both give the bits of contiguous attention, for
/// every block size, every table and every layout.
#pragma once

#include "reference/contract/attention_step.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// Attention of a whole batch over the cache as it is; nothing is stored. Gathers first: simple, at
/// the cost of a copy of each context.
/// \tparam Real   float (the canonical order that kernels repeat) or double
/// \param step    its key and value are read for AttnType::kEncoderOnly alone; queries longer than
///                their sequence are legal, aligned bottom right
/// \param output  set to [T, num_query_heads, head_size_v] as Real; padding rows are 0
/// \param lse     set to [num_query_heads, T] as Real, natural log; padding rows are −∞
/// \throws Error  if the step is inconsistent
template <typename Real>
void paged_attention_by_gather(const AttentionStep& step, Tensor& output, Tensor& lse);

/// The same result, block by block in place: the reference for paged kernels, step by step.
/// \tparam Real   float (the canonical order that kernels repeat) or double
/// \param step    its key and value are read for AttnType::kEncoderOnly alone; queries longer than
///                their sequence are legal, aligned bottom right
/// \param output  set to [T, num_query_heads, head_size_v] as Real; padding rows are 0
/// \param lse     set to [num_query_heads, T] as Real, natural log; padding rows are −∞
/// \throws Error  if the step is inconsistent
/// \source        PagedAttention (Kwon et al. 2023), section 4.1
template <typename Real>
void paged_attention_in_place(const AttentionStep& step, Tensor& output, Tensor& lse);

}  // namespace pagelab
