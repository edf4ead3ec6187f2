/// \file
/// Where pagelab's own files lie at run time: the tiny Llama, the lessons, the golden tables of the tests.
#pragma once

#include <filesystem>

namespace pagelab {

/// The root of the checkout: $PAGELAB_SOURCE_DIR if that is set and not empty (a program that was
/// carried to another machine), else the checkout that this library was built from.
/// \returns  a path that need not exist; who looks for a file there says what is missing
std::filesystem::path source_dir();

}  // namespace pagelab
