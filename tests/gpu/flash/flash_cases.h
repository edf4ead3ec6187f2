/// \file
/// Steps for backends that choose a kernel by types and sizes: the table of cases, each once as it is, which
/// leads to the kernels that take everything, and once with heads of whole 16 elements, which leads to those
/// that read 16 bytes at a time and to tensor cores.
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "tests/cases/attention_cases.h"

namespace pagelab::test {

/// Some of the cases: all on a GPU, fewer in a simulator, fewest in the checked one.
/// \param device  where they will run
/// \param first   which of each few is the first, so that two tests together have more
std::vector<AttentionCase> flash_cases(const Device& device, std::size_t first);

/// Batches of decodes and mixed ones, in bfloat16 and float32.
std::vector<AttentionStep> flash_steps();

/// A batch of decodes in bfloat16, with contexts of more than one split.
AttentionStep decode_step();
/// The same in float32.
AttentionStep float_decode_step();
/// A batch of prefills in bfloat16.
AttentionStep prefill_step();
/// One request that decodes in the middle of a batch in which others prefill, in bfloat16.
AttentionStep mixed_step();

}  // namespace pagelab::test
