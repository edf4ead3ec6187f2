/// \file
/// A launcher for each pair of element types: what turns the dtypes of a step, known at run time,
/// into the kernel that was compiled for them.
#pragma once

#include "reference/tensor/dtype.h"

namespace pagelab {

/// Launchers by the dtype of query, key and value, and that of the cache.
/// \tparam Params  what the kernel gets
template <typename Params>
class KernelTable {
 public:
  using Launcher = void (*)(const Params& params);  ///< launches one kernel

  /// The launcher for these element types.
  Launcher& at(DType activation, DType cache) {
    return launchers_[static_cast<int>(activation)][static_cast<int>(cache)];
  }
  /// \copydoc at
  Launcher at(DType activation, DType cache) const {
    return launchers_[static_cast<int>(activation)][static_cast<int>(cache)];
  }

 private:
  static constexpr int kNumActivationDTypes = static_cast<int>(DType::kBFloat16) + 1;
  static constexpr int kNumCacheDTypes = static_cast<int>(DType::kFp8E5M2) + 1;
  Launcher launchers_[kNumActivationDTypes][kNumCacheDTypes] = {};
};

}  // namespace pagelab
