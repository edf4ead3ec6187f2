/// \file
/// Records steps for the page that walks through them: what changed in the pool and in the block tables since the
/// step before, and the batch as a backend gets it. One JSON object a step, with short names, because a page holds
/// hundreds of them:
///
///     n  number of the step, from 1        t  its five times in microseconds (StepTimes)
///     g  graph mode                        p  padded tokens       c  cascade prefix, in tokens
///     w  requests that wait                u  used blocks
///     r  rows of the batch, in its order   [request, computed, scheduled, prompt tokens, hit tokens, kind]
///                                          kind: 0 was running, 1 admitted, 2 resumed after a preemption
///     s  slots of the flat batch           [cache group][first slot, how many], −1 for padding: runs of neighbours
///     k  tables that grew                  [request, cache group, from which logical block on, block ids]
///     d  tables that a window moved on in  [request, cache group, leading blocks that are dropped by now]
///     b  blocks that changed               [block, request or −1, references, 1 if it has a key, cache group]
///     x  requests that finished            v  requests that were preempted
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/engine/serve/serve_trace.h"

namespace pagelab {

/// Collects the records of some consecutive steps.
class StepRecorder {
 public:
  /// \param first_step  number of the first one to record, from 1
  /// \param num_steps   how many
  /// \throws Error      if a number is below 1
  StepRecorder(std::int64_t first_step, std::int64_t num_steps);

  /// Records a step if it is one of them. Every step of a run has to be shown.
  void record(const StepView& view);

  /// Steps recorded so far.
  std::int64_t num_recorded() const { return num_recorded_; }
  /// The records as a JSON array.
  std::string json() const { return "[" + records_ + "]"; }

 private:
  // What the page draws of a block.
  struct BlockPicture {
    std::int32_t owner =
        -1;  // the first of the running requests that hold it; the last one if none does
    std::int32_t ref_cnt = 0;
    bool has_key = false;
    std::int32_t group = 0;  // of the owner's table that it is in; the last one if nobody holds it
    bool operator==(const BlockPicture&) const = default;
  };

  void write_batch(const StepView& view);
  // What the page knows of a block table.
  struct TablePicture {
    std::size_t num_blocks = 0;   // logical blocks
    std::size_t num_dropped = 0;  // of those, how many the window has left behind
  };

  void write_tables(const StepView& view);
  void write_blocks(const StepView& view);
  void write_ids(const char* name, const std::vector<RequestId>& ids);

  std::int64_t first_step_;
  std::int64_t num_steps_;
  std::int64_t num_recorded_ = 0;
  std::string records_;
  std::vector<BlockPicture> blocks_;                                       // as the page knows them
  std::unordered_map<RequestId, std::vector<TablePicture>> known_tables_;  // [cache groups]
};

}  // namespace pagelab
