/// \file
/// A ladder: kernels that solve the same problem, each with one idea more than the one before it.
#pragma once

namespace pagelab {

/// One kernel of a ladder, with the function that launches it.
/// \tparam Params  what the launcher gets
template <typename Params>
struct Rung {
  const char* name;                      ///< "block_reduce/1_shared_memory"
  void (*launch)(const Params& params);  ///< throws Error for parameters it cannot take
};

}  // namespace pagelab
