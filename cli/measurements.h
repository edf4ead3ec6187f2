/// \file
/// What `pagelab measure attention` finds out: every rung and backend of one target on one shape.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/measured_shape.h"
#include "gpu/runtime/device.h"
#include "reference/registry/selection_question.h"
#include "simulator/simt/counters.h"

namespace pagelab::cli {

/// What the machine can do at most, measured in the same run. Of a GPU only.
struct MeasuredLimits {
  double read_bytes_per_second = 0;  ///< of a kernel that only reads (block_reduce/2_warp_shuffle)
  std::optional<double>
      operations_per_second;  ///< of a product of cuBLAS in bfloat16, if there is one
};

/// One rung or backend on one shape.
struct Measurement {
  std::string name;        ///< "paged_decode/6_pipelined", "FLASH_ATTN"
  bool is_kernel = false;  ///< a rung, timed by itself; else a backend: a forward with its copies
  std::string shape;       ///< its name
  std::string refusal;     ///< why it was not run; empty if it was
  Work work;               ///< what had to be done
  std::optional<double> seconds;           ///< on a GPU or CPU: the median
  std::optional<simt::Counters> counters;  ///< in the simulator: of all launches
};

/// \returns        the limits of the GPU
/// \throws Error   if there is none
MeasuredLimits measure_limits();

/// Times launches, or counts what they do.
/// \param measurement  gets seconds of a GPU, counters of the simulator
/// \param device       where they run
/// \param launch       launches; on a GPU often
void measure_launches(Measurement& measurement,
                      Device& device,
                      const std::function<void()>& launch);

/// Every rung that can attend for a shape: paged_decode for decodes, paged_prefill for all. They attend flat: a prefix is
/// read once a request.
/// \param device  a GPU, or the checked simulator, which counts instead
std::vector<Measurement> measure_kernels(const std::shared_ptr<Device>& device,
                                         const MeasuredShape& shape,
                                         const MeasuredLayer& layer);

/// The cascades over the prefix of a shape: the three launches of FLASH_ATTN, and those of FLASHINFER.
/// \param device  a GPU, or the checked simulator, which counts instead
/// \param shape   decodes with a prefix
/// \param layer   heads
std::vector<Measurement> measure_cascades(const std::shared_ptr<Device>& device,
                                          const MeasuredShape& shape,
                                          const MeasuredLayer& layer);

/// Every backend of a target, and in a cascade those that have one, where there is a prefix. The cache is filled once; timed is `forward`, from queries on the host to outputs
/// on the host.
/// \param target   "cpu" or "cuda"
/// \param as_vllm  the GPU whose rules count: what vLLM's own backend of the name declines is not run
std::vector<Measurement> measure_backends(const std::string& target,
                                          const MeasuredShape& shape,
                                          const MeasuredLayer& layer,
                                          std::optional<DeviceCapability> as_vllm);

/// The backends of a target that vLLM's rules decline for a shape, with the reasons; none without `as_vllm`.
std::vector<Measurement> declined_backends(const std::string& target,
                                           const MeasuredShape& shape,
                                           const MeasuredLayer& layer,
                                           std::optional<DeviceCapability> as_vllm);

}  // namespace pagelab::cli
