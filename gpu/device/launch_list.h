/// \file
/// A recorded list of launches. In the simulator this is all that a graph is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/device/launch_recorder.h"

namespace pagelab {

/// One launch of a list, with its own copy of the parameters.
struct RecordedLaunch {
  LaunchCall call;                ///< `params` is nullptr here
  std::vector<std::byte> params;  ///< the struct's bytes at the time of the recording
};

/// "cache_write/1_naive (3, 1, 1) x (256, 1, 1)": kernel, grid, thread block.
inline std::string to_string(const RecordedLaunch& launch) {
  const auto extent = [](const unsigned int(&lengths)[3]) {
    return "(" + std::to_string(lengths[0]) + ", " + std::to_string(lengths[1]) + ", " +
           std::to_string(lengths[2]) + ")";
  };
  return std::string(launch.call.kernel) + " " + extent(launch.call.grid) + " x " +
         extent(launch.call.cta);
}

/// Records launches in the order in which they are made, and runs them again.
///
///     LaunchList list;
///     launch_recorder = &list;
///     launch("double_it", 1, 32, double_it, params);   // nothing runs
///     launch_recorder = nullptr;
///     list.replay();                                   // now it does
class LaunchList : public LaunchRecorder {
 public:
  void record(const LaunchCall& call) override {
    const auto* first = static_cast<const std::byte*>(call.params);
    launches_.push_back({call, {first, first + call.params_bytes}});
    launches_.back().call.params = nullptr;
  }

  /// Runs all launches, with the parameters that were recorded. Simulator only.
  void replay() const {
    for (const RecordedLaunch& launch : launches_) {
      LaunchCall call = launch.call;
      call.params = launch.params.data();
      call.run(call);
    }
  }

  const std::vector<RecordedLaunch>& launches() const { return launches_; }  ///< in their order

 private:
  std::vector<RecordedLaunch> launches_;
};

}  // namespace pagelab
