// What is done to the files: from single bits to files that belong to other steps.

#include <algorithm>
#include <cstring>
#include <functional>

#include "tests/fuzz/step_fuzz.h"

namespace pagelab::test {
namespace {

constexpr std::size_t kHeaderSize = 128;  // of most .npy files

std::size_t place_in(const std::string& contents, Random& random) {
  if (contents.empty()) return 0;
  return static_cast<std::size_t>(random.whole(0, static_cast<std::int64_t>(contents.size()) - 1));
}

// Mostly behind the header: damage there is often accepted, and reaches the numbers.
std::size_t place_in_data(const std::string& contents, Random& random) {
  std::size_t place = place_in(contents, random);
  if (place >= kHeaderSize || contents.size() <= kHeaderSize || random.whole(1, 4) == 1) {
    return place;
  }
  return kHeaderSize + place % (contents.size() - kHeaderSize);
}

void flip_bits(std::string& contents, Random& random) {
  const std::int64_t count = random.whole(1, 8);
  for (std::int64_t flip = 0; flip < count && !contents.empty(); ++flip) {
    contents[place_in_data(contents, random)] ^= static_cast<char>(1 << random.whole(0, 7));
  }
}

// Numbers at which arithmetic goes wrong, at any place or at one where a number is likely.
void plant_number(std::string& contents, Random& random) {
  constexpr std::uint64_t kNumbers[] = {0,
                                        1,
                                        2,
                                        0xffffffffffffffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0x7f800000,
                                        0x7fc00000,
                                        0xff800000,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0x7ff8000000000000,
                                        0x7c00,
                                        0x7e00,
                                        33,
                                        0xfffffffe};
  const std::size_t width = random.whole(0, 1) == 0 ? 4 : 8;
  if (contents.size() < width) return;
  std::size_t place = place_in_data(contents, random) / width * width;
  place = std::min(place, contents.size() - width);
  std::uint64_t number = kNumbers[random.whole(0, std::size(kNumbers) - 1)];
  if (random.whole(0, 1) == 0) number = static_cast<std::uint64_t>(random.whole(0, 40));
  std::memcpy(contents.data() + place, &number, width);
}

// The text of a header or of step.json, where most decisions are made.
void rewrite_text(std::string& contents, Random& random) {
  constexpr std::string_view kWords[] = {"0",
                                         "1",
                                         "7",
                                         "9999999999",
                                         "-1",
                                         "-2147483649",
                                         "1e400",
                                         "1e-45",
                                         "true",
                                         "null",
                                         "NaN",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         "(",
                                         ")",
                                         ",",
                                         "'",
                                         "\"",
                                         "False",
                                         "True",
                                         "'<f8'",
                                         "'|u1'",
                                         "'<i8'",
                                         ":",
                                         "[3,0]",
                                         "\"scale\"",
                                         "\"fp8\"",
                                         "\"encoder_only\"",
                                         "\"encoder_decoder\"",
                                         "\"causal\": false",
                                         "\"k_scale\": 0.5",
                                         "\\u0000",
                                         "\xff\xfe"};
  const std::size_t text_size = std::min<std::size_t>(contents.size(), 160);
  const std::string_view word = kWords[random.whole(0, std::size(kWords) - 1)];
  const std::size_t place =
      static_cast<std::size_t>(random.whole(0, static_cast<std::int64_t>(text_size)));
  const std::size_t replaced = std::min<std::size_t>(random.whole(0, 3), contents.size() - place);
  contents.replace(place, replaced, word);
}

// Another number in a shape or in step.json: the data stay as long as they are.
void change_digit(std::string& contents, Random& random) {
  std::vector<std::size_t> digits;
  for (std::size_t place = 0; place < contents.size() && place < 160; ++place) {
    if (contents[place] >= '0' && contents[place] <= '9') digits.push_back(place);
  }
  if (digits.empty()) return;
  const std::size_t place = digits[random.whole(0, static_cast<std::int64_t>(digits.size()) - 1)];
  contents[place] = static_cast<char>('0' + random.whole(0, 9));
}

void cut_short(std::string& contents, Random& random) {
  contents.resize(place_in(contents, random));
}

void extend(std::string& contents, Random& random) {
  const std::int64_t count = random.whole(1, 64);
  for (std::int64_t byte = 0; byte < count; ++byte) {
    contents += static_cast<char>(random.bits());
  }
}

void repeat_a_piece(std::string& contents, Random& random) {
  const std::size_t place = place_in(contents, random);
  const std::size_t count = std::min<std::size_t>(random.whole(1, 32), contents.size() - place);
  contents.insert(place, contents.substr(place, count));
}

void drop_a_piece(std::string& contents, Random& random) {
  const std::size_t place = place_in(contents, random);
  contents.erase(place, static_cast<std::size_t>(random.whole(1, 32)));
}

struct Kind {
  const char* name;
  void (*change)(std::string&, Random&);
};

constexpr Kind kKinds[] = {{"bits flipped", flip_bits},
                           {"bits flipped", flip_bits},
                           {"a number planted", plant_number},
                           {"a number planted", plant_number},
                           {"text rewritten", rewrite_text},
                           {"a digit changed", change_digit},
                           {"cut short", cut_short},
                           {"extended", extend},
                           {"a piece repeated", repeat_a_piece},
                           {"a piece dropped", drop_a_piece}};

std::string any_name(const FolderFiles& files, Random& random) {
  const std::int64_t which = random.whole(0, static_cast<std::int64_t>(files.size()) - 1);
  return std::next(files.begin(), which)->first;
}

std::string damage_two_files(FolderFiles& files,
                             const std::vector<FolderFiles>& others,
                             Random& random) {
  const std::string name = any_name(files, random);
  switch (random.whole(0, 2)) {
    case 0: {
      const std::string other = any_name(files, random);
      std::swap(files[name], files[other]);
      return name + ": swapped with " + other;
    }
    case 1:
      files.erase(name);
      return name + ": removed";
    default: {
      const FolderFiles& other =
          others[random.whole(0, static_cast<std::int64_t>(others.size()) - 1)];
      const std::string taken = any_name(other, random);
      files[taken] = other.at(taken);
      return taken + ": taken from another step";
    }
  }
}

}  // namespace

std::string damage(FolderFiles& files, const std::vector<FolderFiles>& others, Random& random) {
  if (files.empty() || random.whole(1, 6) == 1) return damage_two_files(files, others, random);
  const std::string name = any_name(files, random);
  const Kind& kind = kKinds[random.whole(0, std::size(kKinds) - 1)];
  kind.change(files[name], random);
  return name + ": " + kind.name;
}

}  // namespace pagelab::test
