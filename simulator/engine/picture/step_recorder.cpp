#include "simulator/engine/picture/step_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "simulator/engine/in_range.h"
#include "simulator/engine/step/prepared_step.h"

namespace pagelab {
namespace {

constexpr int kWasRunning = 0, kAdmitted = 1, kResumed = 2;

// A step as a backend gets it, from whichever runner.
struct Batch {
  std::vector<std::int64_t> order;         // [num_reqs] place in the scheduler's order
  std::vector<std::int64_t> slot_mapping;  // [padded tokens]
};

// The batch of the layers of one cache group: order and padding are the same in all.
Batch build_batch(const StepView& view, std::size_t group) {
  std::vector<StepRequest> rows;
  for (std::size_t index = 0; index < view.requests.size(); ++index) {
    rows.push_back(
        {view.requests[index], view.output.scheduled[index].request->groups[group].blocks});
  }
  StepLayout layout;
  const KVCacheConfig& cache = view.scheduler.kv_cache_manager().config();
  layout.block_size = block_size_of(cache, cache.groups[group]);
  if (!view.worker.cascade()) {
    SortedStep step = prepare_sorted_step(rows, layout, view.worker.manager());
    return {std::move(step.order), std::move(step.step.metadata.slot_mapping)};
  }
  PreparedStep step =
      prepare_step(rows, layout, view.worker.dispatcher(),
                   SharedPrefix{view.output.num_common_prefix_blocks, *view.worker.cascade()});
  Batch batch;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    batch.order.push_back(static_cast<std::int64_t>(index));
  }
  batch.slot_mapping = std::move(step.step.metadata.slot_mapping);
  return batch;
}

// Appends a list, with commas.
template <typename Values, typename Write>
void write_list(std::string& text, const char* name, const Values& values, Write write) {
  text += fmt::format(",\"{}\":[", name);
  bool is_first = true;
  for (const auto& value : values) {
    if (!is_first) text += ',';
    is_first = false;
    write(value);
  }
  text += ']';
}

// Where slots are neighbours, and where they are padding.
std::vector<std::pair<std::int64_t, std::int64_t>> runs_of(const std::vector<std::int64_t>& slots) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const std::int64_t slot : slots) {
    const bool goes_on =
        !runs.empty() && (slot == kNoSlot ? runs.back().first == kNoSlot
                                          : runs.back().first != kNoSlot &&
                                                runs.back().first + runs.back().second == slot);
    if (goes_on) {
      ++runs.back().second;
    } else {
      runs.emplace_back(slot, 1);
    }
  }
  return runs;
}

int kind_of(const SchedulerOutput& output, RequestId id) {
  const auto names = [id](const AdmittedRequest& admitted) { return admitted.id == id; };
  if (std::any_of(output.new_requests.begin(), output.new_requests.end(), names)) return kAdmitted;
  if (std::any_of(output.resumed_requests.begin(), output.resumed_requests.end(), names)) {
    return kResumed;
  }
  return kWasRunning;
}

}  // namespace

StepRecorder::StepRecorder(std::int64_t first_step, std::int64_t num_steps)
    : first_step_(first_step), num_steps_(num_steps) {
  require_in_range("the first step of the page", first_step, 1, INT64_MAX);
  require_in_range("the number of steps on the page", num_steps, 1);
}

void StepRecorder::record(const StepView& view) {
  const std::int64_t number = view.index + 1;
  if (number < first_step_ || num_recorded_ == num_steps_) return;
  const StepTimes& times = view.step.times;
  records_ += fmt::format(
      "{}\n{{\"n\":{},\"t\":[{:.1f},{:.1f},{:.1f},{:.1f},{:.1f}],\"g\":\"{}\",\"p\":{},\"c\":{},"
      "\"w\":{},\"u\":{}",
      num_recorded_ > 0 ? "," : "", number, times.schedule_start_us, times.metadata_start_us,
      times.cpu_end_us, times.gpu_start_us, times.gpu_end_us, to_string(view.decision.mode),
      view.decision.num_padded_tokens, view.decision.cascade_prefix_len, view.step.num_waiting,
      view.step.num_used_blocks);
  write_batch(view);
  write_tables(view);
  write_blocks(view);
  write_ids("x", view.output.finished_req_ids);
  write_ids("v", view.output.preempted_req_ids);
  records_ += '}';
  ++num_recorded_;
}

void StepRecorder::write_batch(const StepView& view) {
  const Batch batch = build_batch(view, 0);
  write_list(records_, "r", batch.order, [&](std::int64_t place) {
    const ScheduledRequest& request = view.requests[static_cast<std::size_t>(place)];
    const RequestId id = view.output.scheduled[static_cast<std::size_t>(place)].id;
    const int kind = kind_of(view.output, id);
    records_ += fmt::format("[{},{},{},{},{},{}]", id, request.num_computed_tokens,
                            request.num_scheduled_tokens, request.num_prompt_tokens,
                            kind == kWasRunning ? 0 : request.num_computed_tokens, kind);
  });
  std::vector<std::vector<std::int64_t>> slots = {batch.slot_mapping};
  while (slots.size() < view.scheduler.kv_cache_manager().config().groups.size()) {
    slots.push_back(build_batch(view, slots.size()).slot_mapping);
  }
  write_list(records_, "s", slots, [&](const std::vector<std::int64_t>& of_group) {
    std::string runs;
    for (const auto& [first, count] : runs_of(of_group)) {
      runs += fmt::format("{}[{},{}]", runs.empty() ? "" : ",", first, count);
    }
    records_ += fmt::format("[{}]", runs);
  });
}

void StepRecorder::write_tables(const StepView& view) {
  for (const RequestId id : view.output.preempted_req_ids) known_tables_.erase(id);
  for (const RequestId id : view.output.finished_req_ids) known_tables_.erase(id);
  struct Table {
    RequestId id;
    std::size_t group;
    const std::vector<BlockId>& blocks;
    TablePicture& known;
  };
  std::vector<Table> grown;
  std::vector<Table> moved;
  for (const Request* request : view.scheduler.running()) {
    std::vector<TablePicture>& tables = known_tables_[request->id];
    tables.resize(request->groups.size());
    for (std::size_t group = 0; group < tables.size(); ++group) {
      const Table table = {request->id, group, request->groups[group].blocks, tables[group]};
      if (table.blocks.size() > table.known.num_blocks) grown.push_back(table);
      const std::size_t num_dropped = table.known.num_dropped;
      std::size_t& dropped = table.known.num_dropped;
      while (dropped < table.blocks.size() && table.blocks[dropped] == kNullBlock) ++dropped;
      if (dropped > num_dropped) moved.push_back(table);
    }
  }
  write_list(records_, "k", grown, [&](const Table& table) {
    const auto first = table.blocks.begin() + static_cast<std::ptrdiff_t>(table.known.num_blocks);
    records_ += fmt::format("[{},{},{},[{}]]", table.id, table.group, table.known.num_blocks,
                            fmt::join(first, table.blocks.end(), ","));
    table.known.num_blocks = table.blocks.size();
  });
  write_list(records_, "d", moved, [&](const Table& table) {
    records_ += fmt::format("[{},{},{}]", table.id, table.group, table.known.num_dropped);
  });
}

void StepRecorder::write_blocks(const StepView& view) {
  const BlockPool& pool = view.scheduler.kv_cache_manager().pool();
  blocks_.resize(static_cast<std::size_t>(pool.num_blocks()));
  // A block that nobody holds keeps the colour of whoever held it last.
  struct Owner {
    std::int32_t id = -1;
    std::int32_t group = 0;
  };
  std::vector<Owner> owners(blocks_.size());
  for (const Request* request : view.scheduler.running()) {
    for (std::size_t group = 0; group < request->groups.size(); ++group) {
      for (const BlockId block : request->groups[group].blocks) {
        Owner& owner = owners[static_cast<std::size_t>(block)];
        if (owner.id < 0) {
          owner = {static_cast<std::int32_t>(request->id), static_cast<std::int32_t>(group)};
        }
      }
    }
  }
  std::vector<BlockId> changed;
  for (BlockId id = kNullBlock + 1; id < pool.num_blocks(); ++id) {
    BlockPicture& known = blocks_[static_cast<std::size_t>(id)];
    const KVCacheBlock& block = pool.block(id);
    const Owner& owner = owners[static_cast<std::size_t>(id)];
    const BlockPicture now = {owner.id >= 0 ? owner.id : known.owner, block.ref_cnt,
                              block.prefix != kNoPrefix, owner.id >= 0 ? owner.group : known.group};
    if (now == known) continue;
    known = now;
    changed.push_back(id);
  }
  write_list(records_, "b", changed, [&](BlockId id) {
    const BlockPicture& block = blocks_[static_cast<std::size_t>(id)];
    records_ += fmt::format("[{},{},{},{},{}]", id, block.owner, block.ref_cnt,
                            block.has_key ? 1 : 0, block.group);
  });
}

void StepRecorder::write_ids(const char* name, const std::vector<RequestId>& ids) {
  write_list(records_, name, ids, [&](RequestId id) { records_ += fmt::format("{}", id); });
}

}  // namespace pagelab
