#include "tests/support/environment.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace pagelab::test {

std::filesystem::path golden_dir() { return source_dir() / "tests" / "golden"; }

bool gpu_is_required() {
  const char* value = std::getenv("PAGELAB_REQUIRE_GPU");
  return value != nullptr && std::string_view(value) == "1";
}

void skip_for_want_of_a_gpu(const std::string& why) {
  if (gpu_is_required()) {
    FAIL("PAGELAB_REQUIRE_GPU=1, but " << why);
  }
  std::printf("SKIPPED: needs a GPU, but %s\n", why.c_str());
}

}  // namespace pagelab::test
