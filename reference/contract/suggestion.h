/// \file
/// How a sentence about an unknown name ends.
#pragma once

#include <string>
#include <vector>

namespace pagelab {

/// "; did you mean NAIVE?", or "." if no name is near. Case does not count.
/// \param wanted  what the user wrote
/// \param names   what there is
std::string end_with_suggestion(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace pagelab
