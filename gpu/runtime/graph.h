/// \file
/// A recorded list of launches that one call replays: a CUDA graph on a GPU, a list in the simulator.
///
///     const std::unique_ptr<Graph> graph = device->capture([&] { attend(params); });   // nothing runs
///     seq_lens.copy_from(lens_of_this_step.data());
///     graph->replay();                                            // attends for the new lengths
///
/// The recording is literal. Grids, addresses and every number in `params` are those of the recording; what lies
/// behind the addresses is read anew in each replay. So a step's metadata lies in arrays that stay where they
/// are (gpu/backends/persistent_batch.h), and what is passed by value must be right for every step that the
/// graph will replay (simulator/engine/cudagraph/batch_descriptor.h).
///
/// While it is recorded, nothing may be allocated, freed or copied, and nothing waited for: the arrays of a step
/// that lives no longer than its recording would be gone at the first replay. A device refuses that by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device/launch_list.h"

namespace pagelab {

/// What Device::capture recorded.
class Graph {
 public:
  virtual ~Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Runs all launches in their order, behind the work that was launched before.
  /// \throws Error  if it cannot be launched; in the simulator also if a kernel does something wrong
  virtual void replay() = 0;

  /// What was recorded, in its order.
  const std::vector<RecordedLaunch>& launches() const { return list_->launches(); }

 protected:
  explicit Graph(std::unique_ptr<LaunchList> list) : list_(std::move(list)) {}  ///< takes the list
  std::unique_ptr<LaunchList> list_;                                            ///< never null
};

/// Records what `work` launches on this host thread.
/// \param list    gets the launches
/// \param work    launches kernels
/// \throws Error  if it freed an array; or what `work` throws
void record_launches(LaunchList& list, const std::function<void()>& work);

/// Refuses what a device cannot do while it records.
/// \param what    "`workspace` cannot be allocated"
/// \throws Error  if this host thread's launches are being recorded
void refuse_while_recording(const std::string& what);

/// Notes that an array is freed, which cannot be refused at once: record_launches() does that.
void note_free() noexcept;

}  // namespace pagelab
