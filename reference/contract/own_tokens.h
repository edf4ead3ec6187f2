/// \file
/// Encoder-only attention has no cache: it reads this step's own keys and values.
#pragma once

#include "reference/contract/attention_step.h"

namespace pagelab {

/// This step's keys as if they were a cache with blocks of one token, so that whatever reads a paged cache reads
/// them: position j of a request lies in "block" query_start_loc[r] + j.
/// \param metadata  of an encoder-only batch, valid: each sequence is as long as its query
/// \returns         its block table, [num_reqs, max_query_len]
BlockTable table_of_own_tokens(const CommonAttentionMetadata& metadata);

}  // namespace pagelab
