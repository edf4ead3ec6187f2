// The tables that a real GPU made, reproduced by the reference and the simulators line by line.

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "gpu/backends/naive.h"
#include "reference/registry/reference_backends.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/golden_backends.h"
#include "tests/gpu/golden_cascade.h"
#include "tests/gpu/golden_decode.h"
#include "tests/gpu/golden_model.h"
#include "tests/gpu/golden_steps.h"
#include "tests/gpu/golden_teaching.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// The lines of a table without its comments; empty if it has not been made yet.
std::vector<std::string> golden_table(const char* name) {
  const std::filesystem::path path = golden_dir() / "h200" / name;
  std::ifstream file(path);
  if (!file.good()) {
    std::printf("SKIPPED: %s has not been made yet; run h200_golden on a GPU.\n", path.c_str());
    return {};
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  CHECK_FALSE(lines.empty());
  return lines;
}

void check_lines(const std::vector<std::string>& got, const std::vector<std::string>& golden) {
  CHECK(got.size() == golden.size());
  for (std::size_t index = 0; index < std::min(got.size(), golden.size()); ++index) {
    CHECK(got[index] == golden[index]);
  }
}

void check_against_tables(const AttentionBackend& backend) {
  const std::vector<std::string> attention = golden_table("naive_attention.txt");
  const std::vector<std::string> cache_write = golden_table("cache_write.txt");
  if (attention.empty() || cache_write.empty()) return;
  const GoldenLines lines = golden_lines(backend);
  check_lines(lines.naive_attention, attention);
  check_lines(lines.cache_write, cache_write);
}

void check_warps_against_table(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("paged_decode_warp.txt");
  if (golden.empty()) return;
  check_lines(golden_lines(*make_naive_backend(device, 2)).naive_attention, golden);
}

void check_decode_against_table(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("paged_decode.txt");
  if (golden.empty()) return;
  check_lines(decode_golden_lines(device), golden);
}

void check_backends(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("backends.txt");
  if (golden.empty()) return;
  check_lines(backend_golden_lines(device), golden);
}

void check_cascade(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("cascade.txt");
  if (golden.empty()) return;
  check_lines(cascade_golden_lines(device), golden);
}

void check_prefill(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("paged_prefill.txt");
  if (golden.empty()) return;
  check_lines(prefill_lines(device), golden);
}

void check_model_kernels(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("model.txt");
  if (golden.empty()) return;
  check_lines(model_kernel_lines(device), golden);
}

void check_teaching_kernels(const std::shared_ptr<Device>& device) {
  const std::vector<std::string> golden = golden_table("teaching_kernels.txt");
  if (golden.empty()) return;
  check_lines(teaching_kernel_lines(device), golden);
}

}  // namespace

TEST_SUITE("golden tables of the H200") {
  TEST_CASE("REFERENCE_FLOAT reproduces what the H200 computed") {
    check_against_tables(*make_reference_float_backend());
  }
  TEST_CASE("NAIVE reproduces what the H200 computed (simulators)") {
    for (const auto& device : simulators()) check_against_tables(*make_naive_backend(device));
  }
  TEST_CASE("NAIVE reproduces what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_against_tables(*make_naive_backend(device));
  }

  TEST_CASE("paged attention by warps reproduces what the H200 computed (simulator)") {
    check_warps_against_table(simulator_device());
  }
  TEST_CASE("paged attention by warps reproduces what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_warps_against_table(device);
  }
  TEST_CASE("rungs 3 to 7 of decode reproduce what the H200 computed (simulator)") {
    check_decode_against_table(simulator_device());
  }
  TEST_CASE("rungs 3 to 7 of decode reproduce what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_decode_against_table(device);
  }
  TEST_CASE(
      "every backend with kernels of its own order reproduces what the H200 computed (simulator)") {
    check_backends(simulator_device());
  }
  TEST_CASE("every backend with kernels of its own order reproduces what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_backends(device);
  }
  TEST_CASE("cascades and their kernels reproduce what the H200 computed (simulator)") {
    check_cascade(simulator_device());
  }
  TEST_CASE("cascades and their kernels reproduce what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_cascade(device);
  }
  TEST_CASE("every rung of prefill reproduces what the H200 computed (simulator)") {
    check_prefill(simulator_device());
  }
  TEST_CASE("every rung of prefill reproduces what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_prefill(device);
  }
  TEST_CASE("the kernels of a model's layers reproduce what the H200 computed (simulators)") {
    for (const auto& device : simulators()) check_model_kernels(device);
  }
  TEST_CASE("the kernels of a model's layers reproduce what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_model_kernels(device);
  }
  TEST_CASE("every rung of the teaching kernels reproduces what the H200 computed (simulators)") {
    for (const auto& device : simulators()) check_teaching_kernels(device);
  }
  TEST_CASE("every rung of the teaching kernels reproduces what the H200 computed (GPU)") {
    if (const auto device = gpu_or_skip()) check_teaching_kernels(device);
  }

  TEST_CASE("every seed has its line and the simulators write those of REFERENCE_FLOAT") {
    const GoldenLines expected = golden_lines(*make_reference_float_backend());
    CHECK(expected.naive_attention.size() == 144);
    for (const auto& device : simulators()) {
      const GoldenLines lines = golden_lines(*make_naive_backend(device));
      check_lines(lines.naive_attention, expected.naive_attention);
      check_lines(lines.cache_write, expected.cache_write);
    }
  }
}
