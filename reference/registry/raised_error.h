/// \file
/// A refusal in vLLM's own words, with the Python exception that carries it there.
#pragma once

#include <string>
#include <utility>

#include "reference/contract/error.h"

namespace pagelab {

/// An Error that vLLM raises, too.
class RaisedError : public Error {
 public:
  /// \param kind     "ValueError", "ImportError", ...
  /// \param message  vLLM's text
  RaisedError(std::string kind, const std::string& message)
      : Error(message), kind_(std::move(kind)) {}

  /// "ValueError", "ImportError", ...
  const std::string& kind() const { return kind_; }

  /// "ValueError: Unknown attention backend ...".
  std::string with_kind() const { return kind_ + ": " + what(); }

  /// Whether a class could not be loaded, which excludes one backend and no more.
  bool is_import_failure() const {
    return kind_ == "ImportError" || kind_ == "ModuleNotFoundError" || kind_ == "OSError";
  }

 private:
  std::string kind_;
};

}  // namespace pagelab
