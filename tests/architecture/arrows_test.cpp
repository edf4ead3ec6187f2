#include "tests/architecture/arrows.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/support/environment.h"

using namespace pagelab::test;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(source_dir() / path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_allowed(const char* from, const char* to) { return why_forbidden({from, 1, to}).empty(); }

}  // namespace

TEST_SUITE("arrows") {
  TEST_CASE("every include of the house points down") {
    const std::vector<std::string> sources = sources_of(source_dir());
    std::size_t num_includes = 0;
    for (const std::string& source : sources) {
      for (const Include& include : includes_of(source_dir(), source)) {
        ++num_includes;
        CHECK_EQ(why_forbidden(include), "");
      }
    }
    // A walk that finds nothing would find nothing wrong.
    CHECK(sources.size() > 100);
    CHECK(num_includes > sources.size());
  }

  TEST_CASE("every included file exists") {
    for (const std::string& source : sources_of(source_dir())) {
      for (const Include& include : includes_of(source_dir(), source)) {
        INFO(source << ":" << include.line << " includes " << include.to);
        CHECK(std::filesystem::exists(source_dir() / include.to));
      }
    }
  }

  TEST_CASE("headers that kernels include name no Eigen type") {
    std::size_t num_kernels = 0;
    for (const std::string& source : sources_of(source_dir())) {
      if (room_of(source) != "gpu/kernels" && room_of(source) != "gpu/device") continue;
      ++num_kernels;
      for (const std::string& header : reachable_headers(source_dir(), source)) {
        const std::string text = text_of(header);
        INFO(source << " includes " << header);
        CHECK(text.find("<Eigen/") == std::string::npos);
        CHECK(text.find("Eigen::") == std::string::npos);
      }
    }
    CHECK(num_kernels > 0);
  }

  TEST_CASE("reference and the simulators include no header of CUDA") {
    for (const std::string& source : sources_of(source_dir())) {
      if (room_of(source) != "reference" && !room_of(source).starts_with("simulator")) continue;
      INFO(source);
      CHECK(text_of(source).find("#include <cuda") == std::string::npos);
    }
  }

  TEST_CASE("no folder is called utils or common or helpers or misc") {
    for (const std::string& source : sources_of(source_dir())) {
      for (const std::filesystem::path& part : std::filesystem::path(source).parent_path()) {
        INFO(source);
        for (const char* name : {"util", "utils", "common", "helper", "helpers", "misc"}) {
          CHECK(part != name);
        }
      }
    }
  }

  TEST_CASE("an arrow that points up is refused") {
    CHECK_FALSE(is_allowed("reference/tensor/tensor.h", "gpu/runtime/device.h"));
    CHECK_FALSE(is_allowed("reference/tensor/tensor.h", "simulator/simt/dim3.h"));
    CHECK_FALSE(is_allowed("simulator/simt/launch.h", "reference/contract/error.h"));
    CHECK_FALSE(is_allowed("gpu/device/launch.h", "gpu/kernels/launchers.h"));
    CHECK_FALSE(is_allowed("gpu/kernels/launchers.h", "gpu/backends/naive.h"));
    CHECK_FALSE(is_allowed("gpu/kernels/launchers.h", "simulator/simt/launch.h"));
    CHECK_FALSE(is_allowed("gpu/backends/naive.h", "cli/commands.h"));
  }

  TEST_CASE("an arrow that points sideways is refused") {
    CHECK_FALSE(is_allowed("gpu/backends/naive.h", "simulator/engine/scheduler.h"));
    CHECK_FALSE(is_allowed("simulator/engine/scheduler.h", "gpu/backends/naive.h"));
    CHECK_FALSE(is_allowed("lessons/01_x/check.cpp", "tests/support/environment.h"));
    CHECK_FALSE(is_allowed("tests/cli/x_test.cpp", "cli/commands.h"));
  }

  TEST_CASE("an arrow that points down is allowed") {
    CHECK(is_allowed("reference/tensor/tensor.h", "reference/tensor/dtype.h"));
    CHECK(is_allowed("gpu/kernels/launchers.h", "gpu/device/launch.h"));
    CHECK(is_allowed("gpu/device/launch.h", "simulator/simt/launch.h"));
    CHECK(is_allowed("gpu/backends/naive.h", "gpu/kernels/launchers.h"));
    CHECK(is_allowed("tests/gpu/naive_test.cpp", "simulator/simt/launch.h"));
  }

  TEST_CASE("a path that does not start at the root is refused with the place") {
    const std::string sentence = why_forbidden({"gpu/device/launch.h", 7, "launch.h"});
    CHECK(sentence.starts_with("gpu/device/launch.h:7 includes \"launch.h\""));
  }
}
