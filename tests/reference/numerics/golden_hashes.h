/// \file
/// The golden hashes of exact_math.h's functions, tests/golden/numerics/exact_math_hashes.txt, and of ex2_approx,
/// tests/golden/h200/ex2.txt.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "reference/contract/error.h"
#include "tests/support/environment.h"

namespace pagelab::test {

/// Inputs 0, 65537, 2 · 65537, ... as bit patterns: every exponent, both signs, and low bits that
/// keep changing, in 65536 floats.
inline constexpr std::uint64_t kSampleStride = 65537;

/// Hashes (bit_hash.h) of one function's results.
struct GoldenHashes {
  std::uint64_t sampled = 0;     ///< over every kSampleStride-th float
  std::uint64_t all_floats = 0;  ///< over all 2^32
};

/// A table, by function.
/// \throws Error  if the file is missing or a line is not "name hash hash"
inline std::map<std::string, GoldenHashes> read_golden_hashes(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path.string() + ".");
  std::map<std::string, GoldenHashes> table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    GoldenHashes hashes;
    words >> name >> std::hex >> hashes.sampled >> hashes.all_floats;
    if (!words) throw Error(path.string() + ": '" + line + "' is not a name and two hashes.");
    table[name] = hashes;
  }
  return table;
}

/// Both tables, by function.
/// \throws Error  as above
inline std::map<std::string, GoldenHashes> read_golden_hashes() {
  auto table = read_golden_hashes(golden_dir() / "numerics" / "exact_math_hashes.txt");
  table.merge(read_golden_hashes(golden_dir() / "h200" / "ex2.txt"));
  return table;
}

}  // namespace pagelab::test
