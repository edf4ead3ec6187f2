// pagelab profile as a user meets it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::run_pagelab;

namespace {

nlohmann::json profile_of(const std::string& arguments) {
  const CommandResult run = run_pagelab("profile " + arguments + " --json");
  REQUIRE_MESSAGE(run.exit_status == 0, run.output);
  return nlohmann::json::parse(run.output);
}

// "transpose/1_naive" and the like: a kernel's file begins with the number of its rung.
std::set<std::string> kernels_of_the_folder() {
  const std::filesystem::path folder = test::source_dir() / "gpu" / "kernels";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    const bool is_numbered = std::isdigit(path.filename().string().front()) != 0;
    if (!is_numbered || path.extension() != ".cuh") continue;
    names.insert(path.lexically_relative(folder).replace_extension().generic_string());
  }
  REQUIRE(names.size() >= 28);
  return names;
}

}  // namespace

TEST_SUITE("pagelab profile") {
  TEST_CASE("without a kernel all are listed and each of them runs") {
    const CommandResult list = run_pagelab("profile");
    CHECK(list.exit_status == 0);
    const nlohmann::json all = profile_of("all");
    std::set<std::string> names;
    for (const nlohmann::json& kernel : all["kernels"]) names.insert(kernel["kernel"]);
    CHECK(names == kernels_of_the_folder());
    for (const nlohmann::json& kernel : all["kernels"]) {
      const std::string name = kernel["kernel"];
      CAPTURE(name);
      CHECK(list.output.find("  " + name + " ") != std::string::npos);
      REQUIRE(!kernel["launches"].empty());
      CHECK(kernel["launches"][0]["totals"].contains("global load"));
    }
  }

  TEST_CASE(
      "a transpose of whole tiles has the sectors and conflicts that can be counted by hand") {
    // 64 × 96 floats: 6,144 elements in 192 requests of 32. A row of a tile is 4 sectors; a column is
    // 32 sectors in global memory and 32 wavefronts in shared memory, 31 of them conflicts.
    const nlohmann::json naive = profile_of("transpose/1_naive rows=64 columns=96");
    const nlohmann::json& naive_totals = naive["launches"][0]["totals"];
    CHECK(naive_totals["global load"]["requests"] == 192);
    CHECK(naive_totals["global load"]["sectors"] == 192 * 4);
    CHECK(naive_totals["global store"]["sectors"] == 192 * 32);

    const nlohmann::json tile = profile_of("transpose/2_shared_tile rows=64 columns=96");
    const nlohmann::json& tile_totals = tile["launches"][0]["totals"];
    CHECK(tile_totals["global store"]["sectors"] == 192 * 4);
    CHECK(tile_totals["shared store"]["wavefronts"] == 192);
    CHECK(tile_totals["shared load"]["wavefronts"] == 192 * 32);
    CHECK(tile_totals["shared load"]["conflicts"] == 192 * 31);
    CHECK(tile_totals["barrier"] == 6 * 4);  // 6 thread blocks of 4 warps

    const nlohmann::json padded = profile_of("transpose/3_padded_tile rows=64 columns=96");
    CHECK(padded["launches"][0]["totals"]["shared load"]["wavefronts"] == 192);
    CHECK(padded["launches"][0]["totals"]["shared load"]["conflicts"] == 0);
    CHECK(padded["shape"]["rows"] == 64);
  }

  TEST_CASE("two launches of a kernel are told apart") {
    const nlohmann::json reduce = profile_of("block_reduce/2_warp_shuffle count=1000");
    REQUIRE(reduce["launches"].size() == 2);
    CHECK(reduce["launches"][0]["grid"] == nlohmann::json({8, 1, 1}));  // ⌈1000 / 128⌉
    CHECK(reduce["launches"][1]["grid"] == nlohmann::json({1, 1, 1}));
    CHECK(reduce["launches"][0]["totals"]["global load"]["bytes"] == 4000);
    CHECK(reduce["launches"][1]["totals"]["global load"]["bytes"] == 8 * 4);
  }

  TEST_CASE("the listing has the counters beside the line of source that caused them") {
    const CommandResult run = run_pagelab("profile transpose/2_shared_tile rows=32 columns=32");
    CHECK(run.exit_status == 0);
    const std::size_t counters = run.output.find("shared load");
    REQUIRE(counters != std::string::npos);
    const std::string line =
        run.output.substr(counters, run.output.find('\n', counters) - counters);
    CHECK_MESSAGE(line.find("const float element = tile[threadIdx.x][y];") != std::string::npos,
                  line);
    CHECK_MESSAGE(line.find(" 992 ") != std::string::npos, line);  // 32 columns · 31 conflicts
    CHECK(run.output.find("so they are not counted") != std::string::npos);
  }

  TEST_CASE("what cannot be profiled is refused in one sentence") {
    check_refusal("profile transpose/1_naiv", "did you mean transpose/1_naive?");
    check_refusal(
        "profile transpose/1_naive rows=0",
        "rows of transpose/1_naive is '0', but it must be a whole number from 1 to 2048.");
    check_refusal("profile transpose/1_naive rows=x", "rows of transpose/1_naive is 'x'");
    check_refusal("profile transpose/1_naive rowz=4",
                  "transpose/1_naive has no rowz (did you mean rows?): its shape is made of rows, "
                  "columns, threads_per_cta.");
    check_refusal("profile transpose/1_naive 64", "'64' is no number of a shape");
    check_refusal("profile transpose/1_naive threads_per_cta=33", "must be a multiple of 32");
    check_refusal("profile matmul/2_tiled tile=12", "tile is 12, but it must be 8, 16 or 32.");
    check_refusal("profile all rows=4", "leave the shape out");
    check_refusal("profile paged_decode/1_naive element_bytes=3", "element_bytes is 3");
    check_refusal("profile paged_decode/1_naive num_query_heads=3",
                  "it must be a multiple of num_kv_heads, which is 2.");
    check_refusal("profile transpose/1_naive --target cpu", "--target cpu is not one");
    check_refusal("profile transpose/1_naive --target cuda --json", "");
  }
}
