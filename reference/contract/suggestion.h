/// \file
/// What a sentence about an unknown name suggests.
#pragma once

#include <string>
#include <vector>

namespace pagelab {

/// " (did you mean NAIVE?)", to stand right behind the wrong name, where a list of all names does not bury
/// it; or nothing if no name is near. A name that begins like the wrong one is near, and so is one that
/// differs by few letters. Case and punctuation do not count, and fp16 is float16.
/// \param wanted  what the user wrote
/// \param names   what there is; of equally near ones the first is suggested
std::string did_you_mean(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace pagelab
