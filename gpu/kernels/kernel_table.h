/// \file
/// A launcher for each pair of element types: what turns the dtypes of a step, known at run time,
/// into the kernel that was compiled for them.
#pragma once

#include <cstdint>
#include <string>

#include "reference/numerics/precision.h"
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

/// A rung of a ladder whose kernels are compiled for each pair of element types.
/// \tparam Params  what the kernel gets
template <typename Params>
struct TableRung {
  const char* name;               ///< "paged_prefill/1_tiled"
  KernelTable<Params> launchers;  ///< each throws Error for parameters or dtypes it cannot take
  /// How far from the canonical order its sums are (its header's "Order"), for queries of a dtype.
  Precision (*precision)(DType activation);
  /// Floats of workspace that a launch needs, by the sizes that the host sets; nullptr: none.
  std::int64_t (*workspace_floats)(const Params& params) = nullptr;
  /// Why it does not take a launch, by sizes, strides and dtypes; empty if it does. nullptr: it takes all. What
  /// it says, the launcher says too.
  std::string (*refusal)(const Params& params) = nullptr;
};

/// Fills the row of one activation dtype.
/// \param table        where the launchers go
/// \param launcher_of  generic callable, called with a value of each C++ type; the types count alone
template <typename Activation, typename Params, typename LauncherOf>
void add_launchers_of(KernelTable<Params>& table, LauncherOf launcher_of) {
  constexpr DType kActivation = DTypeOf<Activation>::kValue;
  table.at(kActivation, DType::kFloat64) = launcher_of(Activation{}, double{});
  table.at(kActivation, DType::kFloat32) = launcher_of(Activation{}, float{});
  table.at(kActivation, DType::kFloat16) = launcher_of(Activation{}, Float16{});
  table.at(kActivation, DType::kBFloat16) = launcher_of(Activation{}, BFloat16{});
  table.at(kActivation, DType::kFp8E4M3) = launcher_of(Activation{}, Fp8E4M3{});
  table.at(kActivation, DType::kFp8E5M2) = launcher_of(Activation{}, Fp8E5M2{});
}

/// The table of a kernel that takes every pair of dtypes.
/// \param launcher_of  as for add_launchers_of
/// \returns            a launcher for each pair of an activation dtype and a cache dtype
template <typename Params, typename LauncherOf>
KernelTable<Params> table_of_all_dtypes(LauncherOf launcher_of) {
  KernelTable<Params> table;
  add_launchers_of<double>(table, launcher_of);
  add_launchers_of<float>(table, launcher_of);
  add_launchers_of<Float16>(table, launcher_of);
  add_launchers_of<BFloat16>(table, launcher_of);
  return table;
}

}  // namespace pagelab
