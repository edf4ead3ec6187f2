/// \file
/// The one exception that pagelab throws: a sentence for the person who made the request.
/// It names the field, the value and what is allowed. The program prints it and exits with 2.
#pragma once

#include <stdexcept>
#include <string>

namespace pagelab {

/// A request that cannot be carried out, in one sentence that says what to change.
class Error : public std::runtime_error {
 public:
  /// \param sentence  names the field, the value and what is allowed
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

}  // namespace pagelab
