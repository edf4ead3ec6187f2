/// \file
/// How the engine's tables write what is not simply a number.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace pagelab {

/// A flag, written 0 or 1; 0 if the field is missing. \throws Error for another value
bool flag_field(const nlohmann::ordered_json& object, const char* name);

/// An element of a list that may be null.
std::optional<std::int64_t> optional_element(const nlohmann::ordered_json& list, std::size_t index);

/// A list of numbers as JSON. (Braces around one number would make a list of it, so this is said in words.)
nlohmann::ordered_json json_list(std::initializer_list<std::int64_t> numbers);

}  // namespace pagelab
