#include "lessons/checker/random_data.h"

#include <numeric>
#include <utility>

namespace pagelab::lessons {

// Source: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014).
std::uint64_t RandomData::next() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

double RandomData::number() {
  const double unit = static_cast<double>(next() >> 11) * 0x1p-53;  // [0, 1)
  return 2.0 * unit - 1.0;
}

std::vector<double> RandomData::numbers(std::int64_t count) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(number());
  return result;
}

std::vector<std::vector<double>> RandomData::rows(std::int64_t num_rows, std::int64_t row_size) {
  std::vector<std::vector<double>> result;
  for (std::int64_t i = 0; i < num_rows; ++i) result.push_back(numbers(row_size));
  return result;
}

int RandomData::integer(int first, int last) {
  const std::uint64_t choices = static_cast<std::uint64_t>(last - first) + 1;
  return first + static_cast<int>(next() % choices);
}

std::vector<int> RandomData::distinct(int count, int end) {
  std::vector<int> all(end);
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < count; ++i) std::swap(all[i], all[integer(i, end - 1)]);
  all.resize(count);
  return all;
}

}  // namespace pagelab::lessons
