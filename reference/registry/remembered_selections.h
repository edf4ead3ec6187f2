/// \file
/// Where vLLM remembers a choice. Selection itself is pure; every layer of a model asks it, and vLLM answers
/// all but the first from memory. Here that memory is an object: whoever has one sees when it answers.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "reference/registry/selection.h"

namespace pagelab {

/// Choices that were made before, by what vLLM tells them apart: the backend asked for, the record, the number
/// of heads, and the GPU, of which a process of vLLM's has one. What is installed, the model and what was
/// registered since are not part of the key, as in vLLM: a change of those is seen after `forget`.
/// \source vLLM v1/attention/selector.py, _cached_get_attn_backend
class RememberedSelections {
 public:
  /// \param registry  the members; must outlive this object
  explicit RememberedSelections(const BackendRegistry& registry) : registry_(registry) {}

  /// An answer, and where it comes from.
  struct Answer {
    const Selection& selection;  ///< until `forget`
    bool is_remembered;          ///< it was asked before, so nothing is logged
  };

  /// \param question      the layer's record, the GPU and what is installed
  /// \param forced        the member that the user asks for, if any
  /// \throws RaisedError  if `forced` is not a member
  Answer select(const SelectionQuestion& question, const std::optional<std::string>& forced);

  /// Starts anew.
  void forget() { selections_.clear(); }

 private:
  const BackendRegistry& registry_;
  std::map<std::string, Selection> selections_;
};

}  // namespace pagelab
