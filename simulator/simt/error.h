/// \file
/// What the simulator throws: one sentence about a launch, a copy or an access that a GPU would
/// refuse, or worse, would let pass. The simulator knows nothing of the rest of pagelab.
#pragma once

#include <stdexcept>
#include <string>

namespace pagelab::simt {

/// A use of the simulated GPU that is wrong, in one sentence.
class Error : public std::runtime_error {
 public:
  /// \param sentence  names the kernel or the array, the value and what is allowed
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

}  // namespace pagelab::simt
