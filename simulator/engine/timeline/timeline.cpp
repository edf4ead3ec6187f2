#include "simulator/engine/timeline/timeline.h"

#include <algorithm>

namespace pagelab {

void Timeline::wait_until(double time_us) { now_us_ = std::max(now_us_, time_us); }

StepTimes Timeline::launch(const StepCost& cost) {
  StepTimes times;
  times.schedule_start_us = now_us_;
  times.metadata_start_us = times.schedule_start_us + cost.schedule_us;
  times.cpu_end_us = times.metadata_start_us + cost.metadata_us;
  times.gpu_start_us = std::max(times.cpu_end_us, gpu_free_us_);
  times.gpu_end_us = times.gpu_start_us + cost.gpu_us;
  now_us_ = times.cpu_end_us;
  gpu_free_us_ = times.gpu_end_us;
  return times;
}

}  // namespace pagelab
