/// \file
/// The rows of a task: which tokens and heads they are, which keys each of them sees, and where those
/// lie. Index arithmetic, without vectors.
#pragma once

#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {

/// A row's token, as a row of the batch.
std::int64_t token_of(const Params& params, const Task& task, std::int64_t row);
/// A row's query head.
std::int64_t head_of(const Params& params, const Task& task, std::int64_t row);
/// A row's query as it is stored.
const std::byte* query_row(const Params& params, const Task& task, std::int64_t row);

/// The keys that a query sees. They are neighbours: window, causality and the prefix range that holds
/// the query all stretch out from its own position.
/// \param params    the call
/// \param req_idx   the query's request
/// \param position  of the query; negative where a query exceeds its sequence
KeyRange visible_keys(const Params& params, std::int64_t req_idx, std::int64_t position);

/// Sets the rows of a task to their start: positions, visible keys, slopes; no key seen yet.
void start_rows(const Params& params, const Task& task, Scratch& scratch);

/// The part of `keys` that at least one of the rows sees, as one range.
KeyRange keys_seen_by(const Scratch& scratch,
                      std::int64_t first_row,
                      std::int64_t num_rows,
                      KeyRange keys);

/// Whether every one of the rows sees all of `keys`.
bool all_see(const Scratch& scratch, std::int64_t first_row, std::int64_t num_rows, KeyRange keys);

/// Step 1 for the first tile of the keys in `seen`: scratch.tile has no keys if there is none.
void locate_first_tile(const Params& params, const Task& task, KeyRange seen, Scratch& scratch);
/// Step 1 for the tile after scratch.tile: scratch.next_tile has no keys if there is none.
void locate_next_tile(const Params& params, const Task& task, KeyRange seen, Scratch& scratch);

}  // namespace pagelab::cpu_attn
