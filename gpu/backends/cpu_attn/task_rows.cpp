#include "gpu/backends/cpu_attn/task_rows.h"

#include <algorithm>
#include <limits>

namespace pagelab::cpu_attn {
namespace {

// Looks up `keys`, which lie in one tile, in the block table.
void locate(const Params& params, const Task& task, KeyRange keys, TileRows& tile) {
  const std::int32_t* blocks = params.block_table + task.req_idx * params.max_blocks_per_req;
  const std::int64_t bytes_per_element = bytes_of(params.kv_dtype);
  const std::byte* first_key =
      params.keys + task.kv_head_idx * params.key_strides.head * bytes_per_element;
  const std::byte* first_value =
      params.values + task.kv_head_idx * params.value_strides.head * bytes_per_element;
  tile.first_position = keys.begin;
  tile.num_keys = keys.end - keys.begin;

  std::int64_t logical_block = keys.begin / params.block_size;
  std::int64_t block_offset = keys.begin % params.block_size;
  for (std::int64_t key = 0; key < tile.num_keys; ++key) {
    const std::int64_t physical_block = blocks[logical_block];
    const std::int64_t key_element =
        physical_block * params.key_strides.block + block_offset * params.key_strides.token;
    const std::int64_t value_element =
        physical_block * params.value_strides.block + block_offset * params.value_strides.token;
    tile.keys[key] = first_key + key_element * bytes_per_element;
    tile.values[key] = first_value + value_element * bytes_per_element;
    if (++block_offset == params.block_size) {
      block_offset = 0;
      ++logical_block;
    }
  }
  std::fill(tile.keys + tile.num_keys, std::end(tile.keys), tile.keys[tile.num_keys - 1]);
  std::fill(tile.values + tile.num_keys, std::end(tile.values), tile.values[tile.num_keys - 1]);
}

}  // namespace

std::int64_t token_of(const Params& params, const Task& task, std::int64_t row) {
  const std::int64_t row_of_request = task.first_row + row;
  return params.query_start_loc[task.req_idx] + row_of_request / params.group_size();
}

std::int64_t head_of(const Params& params, const Task& task, std::int64_t row) {
  const std::int64_t group_size = params.group_size();
  return task.kv_head_idx * group_size + (task.first_row + row) % group_size;
}

const std::byte* query_row(const Params& params, const Task& task, std::int64_t row) {
  const std::int64_t row_of_batch =
      token_of(params, task, row) * params.num_query_heads + head_of(params, task, row);
  return params.query + row_of_batch * params.head_size * bytes_of(params.query_dtype);
}

KeyRange visible_keys(const Params& params, std::int64_t req_idx, std::int64_t position) {
  const std::int64_t seq_len = params.seq_lens[req_idx];
  const VisibilityRule& rule = params.visibility;
  KeyRange visible = {0, seq_len};
  if (rule.causal) visible.end = std::min(visible.end, position + 1);
  if (rule.window_left != kUnbounded) {
    visible.begin = std::max(visible.begin, position - rule.window_left);
  }
  if (rule.window_right != kUnbounded) {
    visible.end = std::min(visible.end, position + rule.window_right + 1);
  }
  for (std::int64_t index = 0; index < params.num_mm_prefix_ranges; ++index) {
    const MmPrefixRange& range = params.mm_prefix_ranges[index];
    const bool holds_query = range.req_idx == req_idx && range.first < range.last &&
                             range.first <= position && position <= range.last;
    if (!holds_query) continue;
    const std::int64_t end = std::min<std::int64_t>(range.last + 1, seq_len);
    // Before the union: a rule that shows nothing at all has no begin that counts.
    if (visible.begin >= visible.end) visible = {range.first, end};
    visible.begin = std::min<std::int64_t>(visible.begin, range.first);
    visible.end = std::max(visible.end, end);
  }
  if (visible.begin >= visible.end) visible = {0, 0};
  return visible;
}

void start_rows(const Params& params, const Task& task, Scratch& scratch) {
  const std::int64_t query_len =
      params.query_start_loc[task.req_idx + 1] - params.query_start_loc[task.req_idx];
  const std::int64_t seq_len = params.seq_lens[task.req_idx];
  for (std::int64_t row = 0; row < kRowsPerTask; ++row) {
    scratch.m.data()[row] = -std::numeric_limits<float>::infinity();
    scratch.l.data()[row] = 0.0f;
    scratch.slopes.data()[row] = 0.0f;
    scratch.positions[row] = scratch.begins[row] = scratch.ends[row] = 0;
    if (row >= task.num_rows) continue;
    const std::int64_t query_idx = (task.first_row + row) / params.group_size();
    const std::int64_t position = seq_len - query_len + query_idx;
    const KeyRange visible = visible_keys(params, task.req_idx, position);
    scratch.positions[row] = static_cast<std::int32_t>(position);
    scratch.begins[row] = static_cast<std::int32_t>(visible.begin);
    scratch.ends[row] = static_cast<std::int32_t>(visible.end);
    if (params.alibi_slopes != nullptr) {
      scratch.slopes.data()[row] = params.alibi_slopes[head_of(params, task, row)];
    }
  }
  const std::int64_t rows_in_use = task.num_rows <= kFewRows ? kFewRows : kRowsPerTask;
  std::fill_n(scratch.acc.data(), rows_in_use * padded(params.head_size_v), 0.0f);
  std::fill_n(scratch.query.data(), rows_in_use * padded(params.head_size), 0.0f);
}

KeyRange keys_seen_by(const Scratch& scratch,
                      std::int64_t first_row,
                      std::int64_t num_rows,
                      KeyRange keys) {
  KeyRange seen = {keys.end, keys.begin};
  for (std::int64_t row = first_row; row < first_row + num_rows; ++row) {
    const std::int64_t begin = std::max<std::int64_t>(keys.begin, scratch.begins[row]);
    const std::int64_t end = std::min<std::int64_t>(keys.end, scratch.ends[row]);
    if (begin >= end) continue;
    seen.begin = std::min(seen.begin, begin);
    seen.end = std::max(seen.end, end);
  }
  return seen;
}

bool all_see(const Scratch& scratch, std::int64_t first_row, std::int64_t num_rows, KeyRange keys) {
  for (std::int64_t row = first_row; row < first_row + num_rows; ++row) {
    if (scratch.begins[row] > keys.begin || scratch.ends[row] < keys.end) return false;
  }
  return true;
}

void locate_first_tile(const Params& params, const Task& task, KeyRange seen, Scratch& scratch) {
  scratch.tile.num_keys = 0;
  if (seen.begin >= seen.end) return;
  const std::int64_t end_of_tile = (seen.begin / kKeysPerTile + 1) * kKeysPerTile;
  locate(params, task, {seen.begin, std::min(end_of_tile, seen.end)}, scratch.tile);
}

void locate_next_tile(const Params& params, const Task& task, KeyRange seen, Scratch& scratch) {
  const std::int64_t begin = scratch.tile.first_position + scratch.tile.num_keys;
  if (begin >= seen.end) {
    scratch.next_tile = scratch.tile;  // whoever fetches ahead finds what is there already
    scratch.next_tile.num_keys = 0;
    return;
  }
  locate(params, task, {begin, std::min(begin + kKeysPerTile, seen.end)}, scratch.next_tile);
}

}  // namespace pagelab::cpu_attn
