/// \file
/// A small valid step, written out by hand, for tests that change one thing in it.
#pragma once

#include "reference/contract/attention_step.h"

namespace pagelab::test {

/// Three requests, eight tokens the last of which is padding, 8 blocks of 4 tokens, float32:
///
///     request  query tokens  seq_len  blocks   slots of the query's tokens
///     0        2             6        6 1      4 5          (positions 4 5)
///     1        0             3        4        -
///     2        5             9        3 7 0    28 … 31, 0   (positions 4 … 8)
///
/// 4 query heads, 2 KV heads, head_size 3, head_size_v 5; all keys and values are 0.
AttentionStep plain_step();

}  // namespace pagelab::test
