/// \file
/// Where a thread is in the code, calls included, and which of two places comes first. A GPU's compiler
/// copies most functions into their callers, so that each call has its own copy, in the caller's
/// place; ordered like this, functions that were not copied on the CPU behave as if they had been.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>

namespace pagelab::simt {

/// The calls that lead to a place in the code, outermost first, and then the place itself.
class CodePath {
 public:
  /// A function is entered. Of very deep calls, the innermost ones are not told apart.
  /// \param call  where it will return to
  void call(const void* call) {
    if (depth_ < kMostCalls) addresses_[depth_] = call;
    ++depth_;
    set_place(nullptr);
  }
  /// It is left.
  void leave() { --depth_; }
  /// Where the thread is in the innermost function.
  void set_place(const void* place) { addresses_[known_depth()] = place; }

  /// The place that was set last.
  const void* place() const { return addresses_[known_depth()]; }
  /// Whether an address of the innermost function comes before this place, or is it.
  bool is_back_from_here(const void* address) const {
    return !std::less<const void*>()(place(), address);
  }

  /// Whether this place comes before the other.
  bool operator<(const CodePath& other) const {
    return std::lexicographical_compare(addresses_.begin(), end(), other.addresses_.begin(),
                                        other.end(), std::less<const void*>());
  }
  /// Whether it is the same place, reached by the same calls.
  bool operator==(const CodePath& other) const {
    return std::equal(addresses_.begin(), end(), other.addresses_.begin(), other.end());
  }

 private:
  static constexpr std::size_t kMostCalls = 15;

  std::size_t known_depth() const { return std::min(depth_, kMostCalls); }
  std::array<const void*, kMostCalls + 1>::const_iterator end() const {
    return addresses_.begin() + static_cast<std::ptrdiff_t>(known_depth()) + 1;
  }

  std::array<const void*, kMostCalls + 1> addresses_ = {};
  std::size_t depth_ = 0;
};

}  // namespace pagelab::simt
