#include "reference/contract/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void require_same_shape(const char* name, const Tensor& array, const Tensor& expected) {
  if (array.shape() != expected.shape()) {
    refuse("{} has shape {}, but the expected values have {}.", name, to_string(array.shape()),
           to_string(expected.shape()));
  }
}

// How much of its bound an element uses. Over 1, also for a NaN: it disagrees.
double share_of_bound(const ComparedElement& element) {
  const double error = element.error();
  if (error == 0.0) return 0.0;
  if (!(error <= element.bound)) {
    const double share = error / element.bound;
    return share > 1.0 ? share : kInfinity;  // NaN / anything, and anything / NaN, are no share
  }
  return element.bound == kInfinity ? 0.0 : error / element.bound;
}

std::vector<std::int64_t> coordinates_of(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> coordinates(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    coordinates[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return coordinates;
}

// The elements from two before the worst to two behind it.
template <typename ElementAt>
void look_around_worst(Comparison& comparison, const ElementAt& element_at) {
  constexpr std::int64_t kNeighbours = 2;
  if (!comparison.worst) return;
  const std::int64_t worst = comparison.worst->index;
  const std::int64_t first = std::max<std::int64_t>(worst - kNeighbours, 0);
  const std::int64_t last = std::min(worst + kNeighbours, comparison.compared - 1);
  for (std::int64_t index = first; index <= last; ++index) {
    comparison.around_worst.push_back(element_at(index));
  }
}

std::string hex_of(const Tensor& array, std::int64_t index) {
  const int num_bytes = bytes_of(array.dtype());
  std::uint64_t bits = 0;
  std::memcpy(&bits, array.bytes() + index * num_bytes, static_cast<std::size_t>(num_bytes));
  return fmt::format("{:#0{}x}", bits, 2 + 2 * num_bytes);
}

std::string line_of(const ComparedElement& element, const Comparison& comparison) {
  const bool is_worst = element.index == comparison.worst->index;
  std::string line = fmt::format("  {} [{}] got {:.9g}, expected {:.9g}", is_worst ? '>' : ' ',
                                 fmt::join(coordinates_of(element.index, comparison.shape), ", "),
                                 element.got, element.expected);
  if (!element.bits.empty()) return line + fmt::format(" ({})", element.bits);
  return line + fmt::format(", error {:.3g}, bound {:.3g}", element.error(), element.bound);
}

std::string summary_of(const Comparison& comparison) {
  const std::int64_t compared = comparison.compared;
  const std::int64_t mismatches = comparison.mismatches;
  const std::string& origin = comparison.bound_origin;
  const bool by_bits = origin.empty();
  if (compared == 0) return "nothing to compare: the arrays are empty";
  if (by_bits && comparison.agrees()) {
    return fmt::format("all {} elements have the expected bits", compared);
  }
  if (by_bits) {
    return fmt::format("{} of {} elements do not have the expected bits", mismatches, compared);
  }
  if (comparison.agrees()) {
    return fmt::format("all {} elements lie within the bound {}, of which at most {:.3g} % is used",
                       compared, origin, 100.0 * comparison.worst_share_of_bound);
  }
  return fmt::format("{} of {} elements lie outside the bound {}", mismatches, compared, origin);
}

}  // namespace

double ComparedElement::error() const {
  return same_value(got, expected) ? 0.0 : std::fabs(got - expected);
}

Comparison compare_within(const Tensor& got,
                          const Tensor& expected,
                          const Tensor& bound,
                          std::string_view origin) {
  require_same_shape("the result", got, expected);
  require_same_shape("the bound", bound, expected);
  const auto element_at = [&](std::int64_t index) {
    return ComparedElement{index, got.value(index), expected.value(index), bound.value(index), ""};
  };

  Comparison comparison;
  comparison.shape = expected.shape();
  comparison.compared = expected.size();
  comparison.bound_origin = origin;
  for (std::int64_t index = 0; index < comparison.compared; ++index) {
    const ComparedElement element = element_at(index);
    if (element.bound < 0.0) {
      refuse("the bound at [{}] is {}, but a bound must be at least 0.",
             fmt::join(coordinates_of(index, comparison.shape), ", "), element.bound);
    }
    const double share = share_of_bound(element);
    if (!(share <= 1.0)) ++comparison.mismatches;
    if (element.bound == kInfinity) ++comparison.unbounded;
    if (!comparison.worst || share > comparison.worst_share_of_bound) {
      comparison.worst = element;
      comparison.worst_share_of_bound = share;
    }
  }
  look_around_worst(comparison, element_at);
  return comparison;
}

Comparison compare_bits(const Tensor& got, const Tensor& expected) {
  require_same_shape("the result", got, expected);
  if (got.dtype() != expected.dtype()) {
    refuse("the result is {}, but the expected values are {}.", to_string(got.dtype()),
           to_string(expected.dtype()));
  }
  const std::int64_t num_bytes = bytes_of(expected.dtype());
  const auto same_bits = [&](std::int64_t index) {
    return std::memcmp(got.bytes() + index * num_bytes, expected.bytes() + index * num_bytes,
                       static_cast<std::size_t>(num_bytes)) == 0;
  };
  const auto element_at = [&](std::int64_t index) {
    const std::string bits = fmt::format("{} for {}", hex_of(got, index), hex_of(expected, index));
    return ComparedElement{index, got.value(index), expected.value(index), 0.0, bits};
  };

  Comparison comparison;
  comparison.shape = expected.shape();
  comparison.compared = expected.size();
  for (std::int64_t index = 0; index < comparison.compared; ++index) {
    if (same_bits(index)) continue;
    if (comparison.mismatches == 0) comparison.worst = element_at(index);
    ++comparison.mismatches;
    comparison.worst_share_of_bound = kInfinity;
  }
  look_around_worst(comparison, element_at);
  return comparison;
}

std::string to_string(const Comparison& comparison) {
  std::string text = summary_of(comparison);
  if (comparison.unbounded > 0) {
    text += fmt::format(" ({} elements have no bound: their computation may overflow)",
                        comparison.unbounded);
  }
  if (comparison.agrees()) return text;
  text += comparison.bound_origin.empty() ? "; the first and its neighbours:"
                                          : "; the worst and its neighbours:";
  for (const ComparedElement& element : comparison.around_worst) {
    text += '\n';
    text += line_of(element, comparison);
  }
  return text;
}

}  // namespace pagelab
