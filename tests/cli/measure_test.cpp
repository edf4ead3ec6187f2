// pagelab measure attention as a user meets it, and the picture that it draws.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cli/refusal.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::run_pagelab;

namespace {

nlohmann::json measured(const std::string& arguments) {
  const CommandResult run = run_pagelab("measure attention " + arguments + " --json");
  REQUIRE_MESSAGE(run.exit_status == 0, run.output);
  return nlohmann::json::parse(run.output);
}

const nlohmann::json& row_of(const nlohmann::json& report, const std::string& name) {
  for (const nlohmann::json& row : report["measurements"]) {
    if (row["name"] == name) return row;
  }
  FAIL("there is no row " << name);
  return report;
}

nlohmann::json timed(const std::string& name, double operations, double bytes, double seconds) {
  return {{"name", name},          {"kind", "kernel"},
          {"shape", "decode:1x1"}, {"operations", operations},
          {"bytes", bytes},        {"seconds", seconds}};
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_SUITE("pagelab measure") {
  TEST_CASE("the simulator counts every rung and says what had to be done") {
    const nlohmann::json report =
        measured("--target simulator --shapes decode:2x19,prefill:1x5 --head-size 32");
    CHECK(report["target"] == "simulator");
    const nlohmann::json& decode = row_of(report, "paged_decode/1_naive");
    // 2 requests · 19 pairs · 8 heads · 32 elements, two products, two operations each.
    CHECK(decode["operations"] == 4 * 2 * 19 * 8 * 32);
    // Keys and values of 2 KV heads, 2 bytes an element; 2 · 8 rows of 2-byte queries and 4-byte outputs.
    CHECK(decode["bytes"] == 2 * 2 * 19 * 2 * 32 * 2 + 2 * 8 * 32 * (2 + 4));
    CHECK(decode["counters"]["mma"] == 0);
    CHECK(row_of(report, "paged_decode/7_tensor_cores")["counters"]["mma"] > 0);
    const auto& rows = report["measurements"];
    const bool has_prefill = std::any_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
      return row["name"] == "paged_prefill/1_tiled" && row["shape"] == "prefill:1x5" &&
             row["operations"] == 4 * 15 * 8 * 32;  // 1 + 2 + 3 + 4 + 5 visible pairs
    });
    CHECK(has_prefill);
  }

  TEST_CASE("a cascade reads a common prefix once and stands beside the flat rungs") {
    const nlohmann::json report =
        measured("--target simulator --shapes cascade:8x128x16 --head-size 32");
    for (const char* name :
         {"cascade as FLASH_ATTN", "cascade as FLASHINFER", "paged_decode/7_tensor_cores"}) {
      CAPTURE(name);
      const nlohmann::json& row = row_of(report, name);
      CHECK(row["kind"] == "kernel");
      // 8 requests · 144 pairs · 8 heads · 32 elements, two products, two operations each.
      CHECK(row["operations"] == 4 * 8 * 144 * 8 * 32);
      // 128 + 8 · 16 tokens of 2 KV heads, keys and values of 2 bytes; 8 · 8 rows of 2-byte queries and 4-byte outputs.
      CHECK(row["bytes"] == 2 * 256 * 2 * 32 * 2 + 8 * 8 * 32 * (2 + 4));
      CHECK(row["counters"]["mma"] > 0);
    }
    // 8 · 144 tokens are read flat: more than in a cascade, though that writes and merges two results.
    CHECK(row_of(report, "cascade as FLASH_ATTN")["counters"]["sector_bytes"] <
          row_of(report, "paged_decode/7_tensor_cores")["counters"]["sector_bytes"]);
  }

  TEST_CASE("backends with a cascade are timed with it and without") {
    const std::string sizes =
        " --shapes cascade:2x32x5 --head-size 16 --num-query-heads 2 --num-kv-heads 1";
    const nlohmann::json report = measured("--target cpu" + sizes);
    CHECK(row_of(report, "REFERENCE")["seconds"] > 0.0);
    CHECK(row_of(report, "REFERENCE in a cascade")["seconds"] > 0.0);
    CHECK(row_of(report, "CPU_ATTN")["seconds"] > 0.0);
    const auto& rows = report["measurements"];
    CHECK(std::none_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
      return row["name"] == "CPU_ATTN in a cascade";  // it has none
    }));
  }

  TEST_CASE("a rung that does not take a type is listed with the reason") {
    const nlohmann::json report =
        measured("--target simulator --dtype float32 --shapes decode:1x3 --head-size 16");
    const std::string refusal = row_of(report, "paged_decode/7_tensor_cores")["refusal"];
    CHECK(refusal.find("tensor cores multiply a float16 or bfloat16 query") != std::string::npos);
    CHECK(row_of(report, "paged_decode/6_pipelined").contains("counters"));
  }

  TEST_CASE("the CPU has times") {
    const nlohmann::json report = measured(
        "--target cpu --shapes extend:2x3x9 --head-size 16 --num-query-heads 2 --num-kv-heads 1");
    CHECK(row_of(report, "REFERENCE")["seconds"] > 0.0);
    CHECK(row_of(report, "CPU_ATTN")["seconds"] > 0.0);
    // 2 · (7 + 8 + 9) visible pairs.
    CHECK(row_of(report, "REFERENCE")["operations"] == 4 * 48 * 2 * 16);
  }

  TEST_CASE("what cannot be measured is refused in one sentence") {
    check_refusal("measure attenton", "did you mean attention?");
    check_refusal("measure attention --shapes decode:64", "'decode:64' is no shape");
    check_refusal("measure attention --shapes extend:1x9x3",
                  "9 queries cannot be the last of 3 keys");
    check_refusal("measure attention --shapes cascade:3x64", "cascade:REQUESTSxPREFIXxOWN");
    check_refusal("measure attention --shapes cascade:3x20x5",
                  "requests share whole blocks, of 16");
    check_refusal("measure attention --shapes decode:0x3", "'0' must be a whole number from 1 to");
    check_refusal("measure attention --shapes decode:4096x65536", "at most 16777216 are allowed");
    check_refusal("measure attention --num-query-heads 7 --target cpu", "must be a multiple");
    check_refusal("measure attention --target gpu",
                  "(did you mean cuda?); the targets are cpu, simulator, cuda");
    check_refusal("measure attention --from x.json", "--from needs --svg");
    check_refusal("measure attention --from no/such.json --svg x.svg",
                  "no/such.json could not be read");
    check_refusal("measure attention --svg x.svg --target cpu", "--svg draws times");
    check_refusal("measure attention --from . --svg x.svg", "--from: . could not be read.");
    check_refusal("measure attention --from x.json --svg x.svg --json", "--from excludes --json");
  }

  TEST_CASE("a roofline has its roof and a point with its number for each time") {
    const test::ScratchFolder folder;
    nlohmann::json report = {{"target", "cuda"}, {"device", "a GPU"}};
    report["limits"] = {{"read_bytes_per_second", 1e12}, {"operations_per_second", 1e14}};
    report["measurements"] = {timed("slow", 1e9, 1e9, 1e-2), timed("fast", 1e11, 1e9, 2e-3)};
    const std::string from = (folder.path() / "report.json").string();
    const std::string to = (folder.path() / "roofline.svg").string();
    std::ofstream(from) << report;
    const CommandResult run = run_pagelab("measure attention --from " + from + " --svg " + to);
    REQUIRE_MESSAGE(run.exit_status == 0, run.output);
    const std::string svg = contents_of(to);
    const auto count = [&](const std::string& text) {
      std::size_t number = 0;
      for (std::size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) {
        ++number;
      }
      return number;
    };
    CHECK(count("<circle") == 2);
    CHECK(count("stroke-width=\"2\"") ==
          2);  // slope and ceiling, which meet at 100 operations a byte
    CHECK(count("1  slow, decode:1x1") == 1);
    CHECK(count("2  fast, decode:1x1") == 1);
    CHECK(svg.find("</svg>") != std::string::npos);
    // From 1 to 1000 operations a byte over 520 pixels from 80 on: the first point is at the left edge, the second
    // after two of three decades. From 1e11 to 1e14 operations a second: 1e11 at the bottom, 470.
    CHECK(svg.find("<circle cx=\"80.0\" cy=\"470.0\"") != std::string::npos);
    CHECK(svg.find("<circle cx=\"426.7\"") != std::string::npos);
  }

  TEST_CASE("a report with a number that has no place on a roofline is refused") {
    const test::ScratchFolder folder;
    const std::string from = (folder.path() / "report.json").string();
    nlohmann::json report = {{"target", "cuda"}, {"device", "a GPU"}};
    report["limits"] = {{"read_bytes_per_second", 1e12}};
    report["measurements"] = {timed("slow", 1e9, 1e9, 0.0)};
    std::ofstream(from) << report;
    check_refusal("measure attention --from " + from + " --svg x.svg",
                  "--from: seconds is 0; it must be from 1e-12 to 1e30.");
  }

  TEST_CASE("the names of a report are text in a roofline and no markup") {
    const test::ScratchFolder folder;
    nlohmann::json report = {{"target", "cuda"}, {"device", "a<b&c"}};
    report["limits"] = {{"read_bytes_per_second", 1e12}};
    report["measurements"] = {timed("slow", 1e9, 1e9, 1e-2)};
    const std::string from = (folder.path() / "report.json").string();
    const std::string to = (folder.path() / "roofline.svg").string();
    std::ofstream(from) << report;
    run_pagelab("measure attention --from " + from + " --svg " + to);
    CHECK(contents_of(to).find("a&lt;b&amp;c") != std::string::npos);
  }
}
