// h200_mma_golden --out FOLDER [--target cuda|simulator] [--tiles N] [--first-seed S]: runs mma and
// ldmatrix on random tiles of every category, writes mma.txt and ldmatrix.txt into the folder (what the
// tests compare with lies in tests/golden/h200), and says on the spot where the device and the
// simulator's arithmetic differ, which terms went into those results, and which variants of the rules
// have no mismatch. With fewer tiles than the table has, or other seeds, no table is written.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>

#include "reference/contract/error.h"
#include "reference/numerics/float_formats.h"
#include "tests/gpu/tensor_core/mma_variants.h"
#include "tests/gpu/tensor_core/tensor_core_runs.h"

using namespace pagelab;
using namespace pagelab::test;
using pagelab::simt::MmaInput;

namespace {

struct Options {
  std::filesystem::path out;
  std::string target = "cuda";
  int tiles = kGoldenTiles;
  std::uint64_t first_seed = 0;
};

constexpr const char* kUsage =
    "usage: h200_mma_golden --out FOLDER [--target cuda|simulator] [--tiles N] [--first-seed S]";

Options parse(int argc, char** argv) {
  Options options;
  for (int index = 1; index < argc; index += 2) {
    const std::string name = argv[index];
    if (index + 1 == argc) throw Error(name + " needs a value; " + kUsage + ".");
    const std::string value = argv[index + 1];
    if (name == "--out") {
      options.out = value;
    } else if (name == "--target" && (value == "cuda" || value == "simulator")) {
      options.target = value;
    } else if (name == "--tiles") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), options.tiles);
      const bool is_number = error == std::errc() && end == value.data() + value.size();
      if (!is_number || options.tiles < 1 || options.tiles > kGoldenTiles) {
        throw Error("--tiles is " + value + ", but it must be from 1 to " +
                    std::to_string(kGoldenTiles) + ".");
      }
    } else if (name == "--first-seed") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), options.first_seed);
      if (error != std::errc() || end != value.data() + value.size()) {
        throw Error("--first-seed is " + value + ", but it must be a number from 0 on.");
      }
    } else {
      throw Error(name + " " + value + " is not understood; " + kUsage + ".");
    }
  }
  if (options.out.empty()) throw Error(std::string("--out is missing; ") + kUsage + ".");
  return options;
}

double value_of(std::uint16_t bits, MmaInput input) {
  return input == MmaInput::kBFloat16 ? decode(BFloat16{bits}) : decode(Float16{bits});
}

// One result that differs, with its terms: enough to work it out by hand.
template <int kDepth>
void print_mismatch(const MmaTile<kDepth>& tile,
                    MmaInput input,
                    std::size_t index,
                    int row,
                    int column,
                    float device,
                    float simulator) {
  const float c = tile.c[row][column];
  std::printf("    tile %zu row %d column %d: device %08x %a, simulator %08x %a\n", index, row,
              column, std::bit_cast<std::uint32_t>(device), device,
              std::bit_cast<std::uint32_t>(simulator), simulator);
  std::printf("      c %08x %a\n", std::bit_cast<std::uint32_t>(c), c);
  for (int k = 0; k < kDepth; ++k) {
    const std::uint16_t a = tile.a[row][k];
    const std::uint16_t b = tile.b[k][column];
    const double product = value_of(a, input) * value_of(b, input);
    std::printf("      a %04x b %04x product %a\n", a, b, product);
  }
}

template <int kDepth>
std::int64_t compare(const std::vector<MmaTile<kDepth>>& tiles,
                     MmaInput input,
                     const std::vector<MmaResults>& device,
                     const std::vector<MmaResults>& simulator) {
  constexpr std::int64_t kMostShown = 3;
  std::int64_t mismatches = 0;
  for (std::size_t index = 0; index < tiles.size(); ++index) {
    if (std::memcmp(&device[index], &simulator[index], sizeof(MmaResults)) == 0) continue;
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        const float got = device[index].d[row][column];
        const float expected = simulator[index].d[row][column];
        if (std::memcmp(&got, &expected, sizeof got) == 0) continue;
        if (++mismatches > kMostShown) continue;
        print_mismatch(tiles[index], input, index, row, column, got, expected);
      }
    }
  }
  return mismatches;
}

// Variants with the fewest mismatches, and what the defaults have.
void print_variants(std::vector<MmaVariant> variants) {
  constexpr std::size_t kMostShown = 8;
  std::printf("  default rules: %lld mismatches\n",
              static_cast<long long>(variants.front().num_mismatches));
  std::stable_sort(variants.begin(), variants.end(), [](const MmaVariant& x, const MmaVariant& y) {
    return x.num_mismatches < y.num_mismatches;
  });
  for (std::size_t index = 0; index < variants.size(); ++index) {
    const MmaVariant& variant = variants[index];
    if (index >= kMostShown && variant.num_mismatches > 0) break;
    std::printf("  %9lld mismatches: %s\n", static_cast<long long>(variant.num_mismatches),
                to_string(variant.rules).c_str());
    for (const auto& [category, count] : variant.by_category) {
      std::printf("              %s %lld\n", category.c_str(), static_cast<long long>(count));
    }
  }
}

// Variants are tried on all tiles where they may well differ, and on some of the others.
constexpr std::size_t kTilesForVariants = 512;

bool is_undecided(const MmaCategory& category, MmaInput input) {
  if (input == MmaInput::kFloat16) return false;  // its products are never so small
  return category.numbers == MmaNumbers::kSubnormalC || category.numbers == MmaNumbers::kTinyC ||
         category.numbers == MmaNumbers::kZeroC || category.numbers == MmaNumbers::kBelowFloat;
}

// All categories of one instruction. \returns the number of mismatches
template <int kDepth>
std::int64_t run_instruction(MmaInput input,
                             const std::shared_ptr<Device>& device,
                             const Options& options,
                             std::vector<std::string>& lines) {
  std::vector<MmaVariant> variants = all_mma_variants();
  std::int64_t mismatches = 0;
  for (const MmaCategory& category : mma_categories()) {
    std::vector<MmaTile<kDepth>> tiles =
        mma_tiles_of<kDepth>(category, input, options.tiles, options.first_seed);
    const std::vector<MmaResults> results = run_mma(tiles, input, device);
    const std::vector<MmaResults> simulated = compute_mma(tiles, input);
    const std::int64_t different = compare(tiles, input, results, simulated);
    std::printf("%s: %zu tiles, %lld of %zu results differ\n",
                name_of(category, input, kDepth).c_str(), tiles.size(),
                static_cast<long long>(different), tiles.size() * 128);
    std::fflush(stdout);
    mismatches += different;
    const std::vector<std::string> category_lines = mma_lines(category, input, tiles, results);
    lines.insert(lines.end(), category_lines.begin(), category_lines.end());
    if (different == 0 && !is_undecided(category, input)) {
      tiles.resize(std::min<std::size_t>(tiles.size(), kTilesForVariants));
    }
    try_variants(category, input, tiles, results, variants);
  }
  std::printf("Variants of the rules, %s m16n8k%d:\n", to_string(input), kDepth);
  print_variants(variants);
  return mismatches;
}

void write_table(const std::filesystem::path& path,
                 const std::string& device,
                 const std::string& columns,
                 const std::vector<std::string>& lines) {
  const std::filesystem::path temporary = path.string() + ".new";
  std::ofstream file(temporary);
  file << "# Computed on " << device
       << "; made by h200_mma_golden (tests/gpu/tensor_core/make_mma_golden.cpp).\n"
       << "# " << columns << "\n";
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  if (!file) throw Error("cannot write " + temporary.string() + ".");
  std::filesystem::rename(temporary, path);
  std::printf("%s: %zu lines\n", path.c_str(), lines.size());
}

bool check_ldmatrix(const std::vector<std::string>& lines) {
  const std::vector<std::string> simulated = ldmatrix_lines(run_ldmatrix(simulator_device()));
  std::size_t mismatches = 0;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    if (lines[index] == simulated[index]) continue;
    if (++mismatches > 8) continue;
    std::printf("ldmatrix device    %s\n         simulator %s\n", lines[index].c_str(),
                simulated[index].c_str());
  }
  std::printf("ldmatrix: %zu of %zu lines differ\n", mismatches, lines.size());
  return mismatches == 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = parse(argc, argv);
  const std::shared_ptr<Device> device =
      options.target == "cuda" ? cuda_device() : simulator_device();
  const std::vector<std::string> loaded = ldmatrix_lines(run_ldmatrix(device));
  const bool loads_alike = check_ldmatrix(loaded);
  std::vector<std::string> lines;
  std::int64_t mismatches = 0;
  for (const MmaInput input : {MmaInput::kBFloat16, MmaInput::kFloat16}) {
    mismatches += run_instruction<16>(input, device, options, lines);
    mismatches += run_instruction<8>(input, device, options, lines);
  }
  std::printf("In all %lld results differ (seeds from %llu on).\n",
              static_cast<long long>(mismatches),
              static_cast<unsigned long long>(options.first_seed));
  if (options.tiles == kGoldenTiles && options.first_seed == 0) {
    std::filesystem::create_directories(options.out);
    write_table(
        options.out / "mma.txt", device->name(),
        "inputs: hash of all tiles; tiles: first of 512, hash of their D; result: tile, row, "
        "column, and the bits of what goes in and comes out",
        lines);
    write_table(options.out / "ldmatrix.txt", device->name(), "form, lane, registers", loaded);
  }
  return mismatches == 0 && loads_alike ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
