/// \file
/// Where the tests find their files, and what they do without a GPU.
#pragma once

#include <filesystem>
#include <string>

#include "reference/source_dir.h"

namespace pagelab::test {

using pagelab::source_dir;

/// tests/golden in that checkout.
std::filesystem::path golden_dir();

/// Whether PAGELAB_REQUIRE_GPU=1 makes a missing GPU a failure instead of a skip.
bool gpu_is_required();

/// Prints "SKIPPED: needs a GPU, but <why>", which ctest counts as skipped, or fails under
/// PAGELAB_REQUIRE_GPU=1.
void skip_for_want_of_a_gpu(const std::string& why);

}  // namespace pagelab::test
