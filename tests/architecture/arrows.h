/// \file
/// Which folder may include from which: the arrows of the house, as data, and the includes that the
/// sources really have.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pagelab::test {

/// One `#include "to"` in the file `from`; both are paths from the root of the checkout.
struct Include {
  std::string from;  ///< "gpu/kernels/cache_write/naive.cu"
  int line;          ///< in that file
  std::string to;    ///< as written between the quotes
};

/// The room that a path belongs to: "gpu/kernels", "reference", ...; empty if it is in none.
std::string_view room_of(std::string_view path);

/// What is wrong with an include, in one sentence; empty if nothing is.
std::string why_forbidden(const Include& include);

/// Every C++ and CUDA source below the rooms of a checkout, as paths from its root.
std::vector<std::string> sources_of(const std::filesystem::path& root);

/// The quoted includes of one source.
/// \param root  of the checkout
/// \param from  path from there
std::vector<Include> includes_of(const std::filesystem::path& root, const std::string& from);

/// All of pagelab's own headers that a source includes, directly or through others.
std::vector<std::string> reachable_headers(const std::filesystem::path& root,
                                           const std::string& from);

}  // namespace pagelab::test
