#include "gpu/backends/cpu_attn/division.h"

#include <algorithm>

namespace pagelab::cpu_attn {
namespace {

// A request with few rows: its keys are divided.
void divide_keys(Task task, std::int64_t seq_len, Division& division) {
  const std::int64_t num_parts =
      std::max<std::int64_t>(1, (seq_len + kKeysPerPartition - 1) / kKeysPerPartition);
  const std::int64_t first_partial_row = division.num_partial_rows;
  for (std::int64_t part = 0; part < num_parts; ++part) {
    task.keys.begin = part * kKeysPerPartition;
    task.keys.end = std::min(task.keys.begin + kKeysPerPartition, seq_len);
    task.first_partial_row =
        num_parts == 1 ? kNotPartial : first_partial_row + part * task.num_rows;
    division.tasks.push_back(task);
  }
  if (num_parts == 1) return;
  division.num_partial_rows += num_parts * task.num_rows;
  task.first_partial_row = first_partial_row;
  division.merges.push_back({task, num_parts});
}

// A request with many rows: they are. The last ones see most keys and are begun first, so that no
// thread is left alone with a long one.
void divide_rows(Task task, std::int64_t num_rows, std::int64_t seq_len, Division& division) {
  task.keys = {0, seq_len};
  task.first_partial_row = kNotPartial;
  const std::int64_t last_first_row = (num_rows - 1) / kRowsPerTask * kRowsPerTask;
  for (std::int64_t first_row = last_first_row; first_row >= 0; first_row -= kRowsPerTask) {
    task.first_row = first_row;
    task.num_rows = std::min(kRowsPerTask, num_rows - first_row);
    division.tasks.push_back(task);
  }
}

}  // namespace

Division divide(const Params& params) {
  Division division;
  for (std::int64_t req_idx = 0; req_idx < params.num_reqs; ++req_idx) {
    const std::int64_t query_len =
        params.query_start_loc[req_idx + 1] - params.query_start_loc[req_idx];
    const std::int64_t num_rows = query_len * params.group_size();
    const std::int64_t seq_len = params.seq_lens[req_idx];
    if (num_rows == 0) continue;
    for (std::int64_t kv_head_idx = 0; kv_head_idx < params.num_kv_heads; ++kv_head_idx) {
      const Task task = {req_idx, kv_head_idx, 0, num_rows, {0, 0}, kNotPartial};
      if (num_rows <= kRowsPerTask) {
        divide_keys(task, seq_len, division);
      } else {
        divide_rows(task, num_rows, seq_len, division);
      }
      division.num_products += static_cast<double>(num_rows) * static_cast<double>(seq_len);
    }
  }
  return division;
}

}  // namespace pagelab::cpu_attn
