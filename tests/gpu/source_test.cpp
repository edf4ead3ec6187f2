// What the text of the kernels promises: no Eigen, and the same numbered steps as the reference.

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// "gpu/device/launch.h" of `#include "gpu/device/launch.h"`; empty for other lines.
std::string included_by(const std::string& line) {
  if (!line.starts_with("#include ")) return "";
  const std::size_t begin = line.find_first_of("<\"") + 1;
  return line.substr(begin, line.find_last_of(">\"") - begin);
}

// Adds what a file includes, directly and through our own headers.
void collect_includes(const fs::path& path, std::set<std::string>& includes) {
  for (const std::string& line : lines_of(path)) {
    const std::string include = included_by(line);
    if (include.empty() || !includes.insert(include).second) continue;
    const fs::path ours = source_dir() / include;
    if (fs::exists(ours)) collect_includes(ours, includes);
  }
}

std::vector<fs::path> kernel_sources() {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "gpu")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cu" || extension == ".cuh") sources.push_back(entry.path());
  }
  return sources;
}

// The step labels of a file, from top to bottom: "Step 1: locate the block".
std::vector<std::string> step_labels(const fs::path& path) {
  std::vector<std::string> labels;
  for (const std::string& line : lines_of(path)) {
    const std::size_t label = line.find("// Step ");
    if (label != std::string::npos) labels.push_back(line.substr(label + 3));
  }
  return labels;
}

// Whether a step has the same number and name in two rungs of a ladder, or says that there is nothing
// to do in it.
bool is_same_step(const std::string& label, const std::string& other) {
  const std::string number = label.substr(0, label.find(':'));
  if (number != other.substr(0, other.find(':'))) return false;
  const auto does_nothing = [&](const std::string& text) {
    return text.starts_with(number + ": nothing here");
  };
  return label == other || does_nothing(label) || does_nothing(other);
}

}  // namespace

TEST_SUITE("kernel sources") {
  TEST_CASE("B5: no kernel and no header that one includes names Eigen") {
    const std::vector<fs::path> sources = kernel_sources();
    CHECK(sources.size() >= 5);
    for (const fs::path& source : sources) {
      CAPTURE(source.string());
      std::set<std::string> includes;
      collect_includes(source, includes);
      CHECK_FALSE(includes.empty());
      for (const std::string& include : includes) {
        CAPTURE(include);
        CHECK(include.find("Eigen") == std::string::npos);
      }
    }
    // The walk itself sees Eigen where it is.
    std::set<std::string> includes;
    collect_includes(source_dir() / "reference/attention/paged.cpp", includes);
    CHECK(includes.count("Eigen/Core") == 1);
  }

  TEST_CASE("the kernel has the numbered steps of the reference in the same order") {
    const std::vector<std::string> expected = {"Step 1: locate the block", "Step 2: scores",
                                               "Step 3: softmax update", "Step 4: weighted values",
                                               "Step 5: normalise"};
    CHECK(step_labels(source_dir() / "reference/attention/paged.cpp") == expected);
    // Without blocks there is nothing to locate; the form without them says so, and goes on alike.
    std::vector<std::string> contiguous =
        step_labels(source_dir() / "reference/attention/contiguous.cpp");
    REQUIRE(contiguous.size() == expected.size());
    CHECK(contiguous[0].starts_with("Step 1: nothing here"));
    contiguous[0] = expected[0];
    CHECK(contiguous == expected);
    CHECK(step_labels(source_dir() / "gpu/kernels/paged_decode/1_naive.cuh") == expected);
    CHECK(step_labels(source_dir() / "gpu/kernels/paged_decode/2_warp.cuh") == expected);
    for (const char* rung : {"1_tiled.cuh", "2_tensor_cores.cuh", "3_pipelined.cuh"}) {
      CHECK(step_labels(source_dir() / "gpu/kernels/paged_prefill" / rung) == expected);
    }
    // A rung that leaves a step to its reduce says so, and goes on alike.
    std::vector<std::string> cascade =
        step_labels(source_dir() / "gpu/kernels/cascade/1_prefix.cuh");
    REQUIRE(cascade.size() == expected.size());
    CHECK(cascade[4].starts_with("Step 5: nothing here"));
    cascade[4] = expected[4];
    CHECK(cascade == expected);
  }

  TEST_CASE("the rungs of a ladder have the same numbered steps in the same order") {
    for (const char* ladder : {"block_reduce", "histogram", "matmul", "paged_decode",
                               "paged_prefill", "scan", "transpose", "unified"}) {
      CAPTURE(ladder);
      std::vector<std::vector<std::string>> rungs;
      for (const auto& entry : fs::directory_iterator(source_dir() / "gpu/kernels" / ladder)) {
        const std::string name = entry.path().filename().string();
        if (name[0] < '1' || name[0] > '9') continue;
        rungs.push_back(step_labels(entry.path()));
      }
      REQUIRE(rungs.size() >= 2);
      for (const std::vector<std::string>& rung : rungs) {
        CHECK_FALSE(rung.empty());
        REQUIRE(rung.size() == rungs[0].size());
        for (std::size_t step = 0; step < rung.size(); ++step) {
          CAPTURE(rung[step]);
          CHECK(is_same_step(rung[step], rungs[0][step]));
        }
      }
    }
  }
}
