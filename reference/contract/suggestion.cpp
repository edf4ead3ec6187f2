#include "reference/contract/suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

// Upper case, without what is easily left out: "llama-3-8b" and "llama3-8B" are the same then.
std::string letters_and_digits(const std::string& text) {
  std::string kept;
  for (char character : text) {
    if (character >= 'a' && character <= 'z') character = static_cast<char>(character - 'a' + 'A');
    const bool is_letter = character >= 'A' && character <= 'Z';
    const bool is_digit = character >= '0' && character <= '9';
    if (is_letter || is_digit) kept += character;
  }
  // A float's type is written in two ways: fp16 and float16, bf16 and bfloat16.
  for (const auto& [abbreviation, word] : {std::pair("FP", "FLOAT"), std::pair("BF", "BFLOAT")}) {
    const bool is_type = kept.size() > 2 && kept[2] >= '0' && kept[2] <= '9';
    if (is_type && kept.starts_with(abbreviation)) kept.replace(0, 2, word);
  }
  return kept;
}

std::size_t distance(const std::string& wanted, const std::string& name) {
  return edit_distance(letters_and_digits(wanted), letters_and_digits(name));
}

// The first name that begins with what the user wrote; a single letter begins too many.
std::vector<std::string>::const_iterator beginning_with(const std::string& wanted,
                                                        const std::vector<std::string>& names) {
  const std::string beginning = letters_and_digits(wanted);
  if (beginning.size() < 2) return names.end();
  return std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return letters_and_digits(name).starts_with(beginning);
  });
}

std::vector<std::string>::const_iterator nearest(const std::string& wanted,
                                                 const std::vector<std::string>& names) {
  const auto found =
      std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        return distance(wanted, a) < distance(wanted, b);
      });
  // Up to a third of the letters may be wrong, and two in a short name. Nothing is near a name of one letter or two:
  // with one of them wrong it would be any other.
  const std::size_t num_letters = letters_and_digits(wanted).size();
  const std::size_t most_of_short = num_letters == 3 ? 1 : 2;
  const std::size_t most_edits = num_letters < 3 ? 0 : std::max(most_of_short, wanted.size() / 3);
  return found != names.end() && distance(wanted, *found) <= most_edits ? found : names.end();
}

}  // namespace

std::string did_you_mean(const std::string& wanted, const std::vector<std::string>& names) {
  auto found = nearest(wanted, names);
  const bool differs_in_case_alone = found != names.end() && distance(wanted, *found) == 0;
  const auto longer = beginning_with(wanted, names);
  if (longer != names.end() && !differs_in_case_alone) found = longer;
  return found == names.end() ? "" : " (did you mean " + *found + "?)";
}

}  // namespace pagelab
