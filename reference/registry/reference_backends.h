/// \file
/// The reference as a backend, in two precisions. Both read blocks in place, take every dtype,
/// layout and variant of the contract, and are what everyone else is compared with.
#pragma once

#include <memory>

#include "reference/registry/backend.h"

namespace pagelab {

/// `REFERENCE`: all arithmetic in double; output and LSE are float64.
std::unique_ptr<AttentionBackend> make_reference_backend();

/// `REFERENCE_FLOAT`: the canonical float order, which the fp32 kernels repeat bit for bit; output
/// and LSE are float32 for every input dtype.
std::unique_ptr<AttentionBackend> make_reference_float_backend();

}  // namespace pagelab
