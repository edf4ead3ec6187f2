#include "reference/contract/suggestion.h"

#include <algorithm>
#include <numeric>

namespace pagelab {
namespace {

// Single-character edits that turn one word into the other (Levenshtein), row by row.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> distances(b.size() + 1);
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, distances[j + 1] + 1});
    }
  }
  return distances.back();
}

std::string in_upper_case(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

}  // namespace

std::string end_with_suggestion(const std::string& wanted, const std::vector<std::string>& names) {
  if (names.empty()) return ".";
  const auto distance = [&](const std::string& name) {
    return edit_distance(in_upper_case(wanted), in_upper_case(name));
  };
  const auto nearest = std::min_element(
      names.begin(), names.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  // Up to a third of the letters may be wrong, and two in a short name.
  const std::size_t most_edits = std::max<std::size_t>(2, wanted.size() / 3);
  if (distance(*nearest) > most_edits) return ".";
  return "; did you mean " + *nearest + "?";
}

}  // namespace pagelab
