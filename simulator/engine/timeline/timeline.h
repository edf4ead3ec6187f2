/// \file
/// Where steps lie in time.
///
///     one after another   CPU  s0 m0 ········ s1 m1 ········ s2 m2
///                         GPU        [ 0    ]       [ 1    ]       [ 2    ]
///     asynchronous        CPU  s0 m0 s1 m1 ··· s2 m2 ·· s3 m3
///                         GPU        [ 0    ][ 1    ][ 2    ]
///
/// One after another, the GPU waits while the CPU schedules (s) and builds arrays (m). Asynchronously a step is
/// scheduled while the one before is computed: its CPU part is hidden, as long as it is the shorter one.
#pragma once

#include "simulator/engine/timeline/step_cost.h"

namespace pagelab {

/// One step in time, in microseconds since the trace began.
struct StepTimes {
  double schedule_start_us = 0;  ///< the CPU begins to schedule
  double metadata_start_us = 0;  ///< it begins to build arrays
  double cpu_end_us = 0;         ///< it is done with the step
  double gpu_start_us = 0;       ///< the GPU begins
  double gpu_end_us = 0;         ///< the step's tokens are there
};

/// Lays steps out, and says what time it is for the CPU.
class Timeline {
 public:
  /// The CPU's clock: when it can schedule the next step.
  double now_us() const { return now_us_; }

  /// Nothing happens until then.
  void wait_until(double time_us);

  /// The CPU prepares a step now; the GPU takes it as soon as it has finished the one before.
  StepTimes launch(const StepCost& cost);

  /// The CPU waits for a step's tokens.
  void wait_for(const StepTimes& step) { wait_until(step.gpu_end_us); }

 private:
  double now_us_ = 0;
  double gpu_free_us_ = 0;  // when the GPU has finished what it was given
};

}  // namespace pagelab
