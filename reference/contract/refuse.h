/// \file
/// How the contract's checks say no.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "reference/contract/error.h"

namespace pagelab {

/// Throws an Error whose sentence is `format` with its gaps filled, as fmt::format does it.
/// \throws Error  always
template <typename... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> format, Values&&... values) {
  throw Error(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace pagelab
