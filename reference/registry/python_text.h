/// \file
/// How Python prints what stands in vLLM's messages: lists, strings, and None.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagelab {

/// "a, b, c".
template <typename Text>
std::string comma_separated(const std::vector<Text>& texts) {
  std::size_t num_characters = 0;
  for (const Text& text : texts) num_characters += std::string_view(text).size() + 2;
  std::string joined;
  joined.reserve(num_characters);
  for (const Text& text : texts) {
    if (!joined.empty()) joined += ", ";
    joined += text;
  }
  return joined;
}

/// A number, or "None".
inline std::string python_number(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "None";
}

/// A string between quotes: single ones, or double ones if it contains an apostrophe and no double
/// quote.
inline std::string python_string(const std::string& text) {
  const bool has_apostrophe = text.find('\'') != std::string::npos;
  const bool has_quote = text.find('"') != std::string::npos;
  const char quote = has_apostrophe && !has_quote ? '"' : '\'';
  std::string printed(1, quote);
  for (const char character : text) {
    if (character == quote || character == '\\') printed += '\\';
    printed += character;
  }
  return printed + quote;
}

/// "['a', 'b']".
template <typename Text>
std::string python_list(const std::vector<Text>& texts) {
  std::vector<std::string> quoted;
  for (const Text& text : texts) quoted.push_back(python_string(std::string(text)));
  return "[" + comma_separated(quoted) + "]";
}

}  // namespace pagelab
