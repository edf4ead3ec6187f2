/// \file
/// Seeded random inputs for the checks of exercises: the same on every machine, so that a failing
/// input that a message names can be made again.
#pragma once

#include <cstdint>
#include <vector>

namespace pagelab::lessons {

/// A stream of random numbers (SplitMix64).
class RandomData {
 public:
  /// \param seed  named in the description of every input that comes from here
  explicit RandomData(std::uint64_t seed) : state_(seed) {}

  /// A number of [-1, 1).
  double number();
  /// `count` numbers of [-1, 1).
  std::vector<double> numbers(std::int64_t count);
  /// [num_rows][row_size] numbers of [-1, 1).
  std::vector<std::vector<double>> rows(std::int64_t num_rows, std::int64_t row_size);
  /// An integer of [first, last].
  int integer(int first, int last);
  /// `count` different integers of [0, end), in random order; count may not exceed end.
  std::vector<int> distinct(int count, int end);

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

}  // namespace pagelab::lessons
