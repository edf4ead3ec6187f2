/// \file
/// Recording launches on a GPU. Compiled only where there is a CUDA toolkit.
#pragma once

#include <functional>
#include <memory>

#include "gpu/runtime/graph.h"

namespace pagelab {

/// Device::capture on a GPU.
/// \param work    launches kernels
/// \throws Error  as Device::capture
std::unique_ptr<Graph> capture_cuda_graph(const std::function<void()>& work);

}  // namespace pagelab
