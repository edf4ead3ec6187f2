/// \file
/// Where a text stands in a source file, so that a test can expect a line by what is in it.
#pragma once

#include <string>

namespace pagelab::test {

/// "1_naive.cuh:88": the first line of a source file that contains a text.
/// \param file  from the top of the repository
/// \param text  part of a line
/// \throws std::runtime_error  if the file cannot be read or no line contains it
std::string source_place(const std::string& file, const std::string& text);

}  // namespace pagelab::test
