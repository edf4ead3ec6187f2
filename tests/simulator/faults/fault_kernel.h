/// \file
/// What the files of fault kernels share. A kernel is a template of whether it is sound, so that both
/// twins are the same lines; the line where a fault shows bears a comment `<- name of the kernel`.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "reference/numerics/target.h"
#include "tests/simulator/faults/faults.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// How a fault kernel is launched.
struct FaultLaunch {
  unsigned int grid = 1;          ///< thread blocks
  unsigned int cta = 8;           ///< threads of each
  unsigned int shared_bytes = 0;  ///< of dynamic shared memory
};

}  // namespace PAGELAB_TARGET
}  // namespace pagelab

/// A row of a table of faults: the kernel `name<kIsSound>`, launched with a FaultLaunch.
#define PAGELAB_FAULT(name, ...)                                                                \
  Fault {                                                                                       \
#name,                                                                                        \
        [](const FaultParams& params) {                                                           \
          constexpr FaultLaunch kLaunch = __VA_ARGS__;                                            \
          launch(#name, kLaunch.grid, kLaunch.cta, name<false>, params, kLaunch.shared_bytes);    \
        },                                                                                        \
        [](const FaultParams& params) {                                                           \
          constexpr FaultLaunch kLaunch = __VA_ARGS__;                                            \
          launch(#name, kLaunch.grid, kLaunch.cta, name<true>, params, kLaunch.shared_bytes);     \
        } \
  }
