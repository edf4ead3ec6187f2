// mma and ldmatrix as kernels use them, on every device, and against what an H200 computed.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/tensor_core/tensor_core_runs.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;
using pagelab::simt::MmaInput;

namespace {

constexpr MmaInput kInputs[] = {MmaInput::kBFloat16, MmaInput::kFloat16};

// The lines of a table without its comments; empty if it has not been made yet.
std::vector<std::string> golden_table(const char* name) {
  const std::filesystem::path path = golden_dir() / "h200" / name;
  std::ifstream file(path);
  if (!file.good()) {
    std::printf("SKIPPED: %s has not been made yet; run h200_mma_golden on a GPU.\n", path.c_str());
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

template <int kDepth>
void check_kernels(const std::shared_ptr<Device>& device, int num_tiles) {
  CAPTURE(device->name());
  for (const MmaInput input : kInputs) {
    for (const MmaCategory& category : mma_categories()) {
      CAPTURE(name_of(category, input, kDepth));
      const std::vector<MmaTile<kDepth>> tiles = mma_tiles_of<kDepth>(category, input, num_tiles);
      const std::vector<MmaResults> expected = compute_mma(tiles, input);
      const std::vector<MmaResults> got = run_mma(tiles, input, device);
      CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(MmaResults)) == 0);
    }
  }
}

void check_kernels(const std::shared_ptr<Device>& device, int num_tiles) {
  check_kernels<16>(device, num_tiles);
  check_kernels<8>(device, num_tiles);
}

template <int kDepth>
void add_golden_lines(MmaInput input, std::vector<std::string>& lines) {
  for (const MmaCategory& category : mma_categories()) {
    const std::vector<MmaTile<kDepth>> tiles = mma_tiles_of<kDepth>(category, input, kGoldenTiles);
    const std::vector<std::string> more =
        mma_lines(category, input, tiles, compute_mma(tiles, input));
    lines.insert(lines.end(), more.begin(), more.end());
  }
}

// Element (row, column) of matrix m: lane 8 m + row points to the row.
std::uint32_t element(int matrix, int row, int column) {
  const int lane = 8 * matrix + row;
  return static_cast<std::uint32_t>(0x100 * kLdmatrixRowOfLane[lane] + column);
}

// The PTX manual's words: "each lane receives two elements of row lane / 4, from column 2 (lane % 4)".
std::uint32_t expected_register(int lane, int matrix, bool is_transposed) {
  const int row = lane / 4;
  const int column = 2 * (lane % 4);
  const std::uint32_t first =
      is_transposed ? element(matrix, column, row) : element(matrix, row, column);
  const std::uint32_t second =
      is_transposed ? element(matrix, column + 1, row) : element(matrix, row, column + 1);
  return first + 0x10000 * second;
}

std::vector<std::uint32_t> expected_registers() {
  constexpr int kMatrices[kLdmatrixForms] = {1, 2, 4, 1, 2, 4};
  std::vector<std::uint32_t> registers;
  for (int form = 0; form < kLdmatrixForms; ++form) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        const bool is_there = matrix < kMatrices[form];
        registers.push_back(is_there ? expected_register(lane, matrix, form >= 3) : 0);
      }
    }
  }
  return registers;
}

void check_ldmatrix(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  check_lines(ldmatrix_lines(run_ldmatrix(device)), ldmatrix_lines(expected_registers()));
}

// What the launch says; empty if nothing.
std::string mistake(const std::shared_ptr<Device>& device, const LdmatrixRowsParams& params) {
  try {
    run_ldmatrix(device, params);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("tensor core words") {
  TEST_CASE("a warp that multiplies a tile has the bits of the arithmetic (simulators)") {
    for (const auto& device : simulators()) check_kernels(device, 37);
  }
  TEST_CASE("a warp that multiplies a tile has the bits of the arithmetic (GPU)") {
    if (const auto device = gpu_or_skip()) check_kernels(device, kGoldenTiles);
  }

  TEST_CASE("the arithmetic reproduces what the H200 computed on every tile of the table") {
    const std::vector<std::string> golden = golden_table("mma.txt");
    if (golden.empty()) return;
    std::vector<std::string> lines;
    for (const MmaInput input : kInputs) {
      add_golden_lines<16>(input, lines);
      add_golden_lines<8>(input, lines);
    }
    check_lines(lines, golden);
  }

  TEST_CASE(
      "every category of the table is reached by each instruction with many different results") {
    // A generator that gave the same tile twice, or only zeros, would prove nothing.
    for (const MmaInput input : kInputs) {
      for (const MmaCategory& category : mma_categories()) {
        const auto tiles = mma_tiles_of<16>(category, input, 8);
        CHECK(std::memcmp(&tiles[0], &tiles[1], sizeof tiles[0]) != 0);
      }
    }
    CHECK(std::size_t{kGoldenTiles} * mma_categories().size() >= 100000);
  }

  TEST_CASE(
      "each form of ldmatrix gives each lane the elements that the manual says (simulators)") {
    for (const auto& device : simulators()) check_ldmatrix(device);
  }
  TEST_CASE("each form of ldmatrix gives each lane the elements that the manual says (GPU)") {
    if (const auto device = gpu_or_skip()) check_ldmatrix(device);
  }
  TEST_CASE("ldmatrix gives the registers of the H200") {
    const std::vector<std::string> golden = golden_table("ldmatrix.txt");
    if (!golden.empty()) check_lines(ldmatrix_lines(expected_registers()), golden);
  }

  TEST_CASE("ldmatrix refuses a row that is not at a multiple of 16") {
    LdmatrixRowsParams params;
    params.offset = 4;
    for (const auto& device : simulators()) {
      const std::string sentence = mistake(device, params);
      CAPTURE(sentence);
      CHECK(holds(sentence, "kernel ldmatrix_rows, thread block (0, 0, 0), thread (0, 0, 0)"));
      CHECK(holds(sentence, "ldmatrix.x1"));
      CHECK(holds(sentence, "8 bytes past a multiple of 16"));
    }
  }

  TEST_CASE("ldmatrix and mma refuse a warp that lacks lanes") {
    LdmatrixRowsParams params;
    params.threads = 31;
    for (const auto& device : simulators()) {
      const std::string sentence = mistake(device, params);
      CAPTURE(sentence);
      CHECK(holds(sentence, "needs all 32 lanes of a warp, but this one has 31"));
    }
  }

#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  TEST_CASE("the checked simulator refuses an ldmatrix from global memory") {
    LdmatrixRowsParams params;
    params.from_global = true;
    const std::string sentence = mistake(checked_simulator_device(), params);
    CAPTURE(sentence);
    CHECK(holds(sentence, "has a row that is not in shared memory"));
    CHECK(holds(sentence, "ldmatrix_rows.cu:"));
  }
  TEST_CASE("the checked simulator sees that a row of ldmatrix was not written before a barrier") {
    LdmatrixRowsParams params;
    params.lacks_barrier = true;
    const std::string sentence = mistake(checked_simulator_device(), params);
    CAPTURE(sentence);
    CHECK(holds(sentence, "tile"));
    CHECK(holds(sentence, "ldmatrix_rows.cu:"));
  }
#endif
}
