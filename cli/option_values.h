/// \file
/// What the parser itself lets pass: empty values, and numbers that it would clamp.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/suggestion.h"

namespace pagelab::cli {

/// Refuses a value that is not a whole number of 64 bits.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::int64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && parsed_to == end) return "";
        return fmt::format("'{}' is not a whole number of 64 bits.", text);
      },
      "");
}

/// Refuses an empty value, which would stand for the default.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        return text.empty() ? "the value is empty; leave the option out for its default." : "";
      },
      "");
}

/// Refuses a value that is none of these names, and suggests the nearest one.
inline CLI::Validator one_of(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](const std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        return fmt::format("it is {}{}; it may be one of {}.", text, did_you_mean(text, names),
                           fmt::join(names, ", "));
      },
      "");
}

}  // namespace pagelab::cli
