#include "tests/gpu/tensor_core/tensor_core_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/runtime/device_array.h"
#include "tests/gpu/tensor_core/mma_tiles.h"

namespace pagelab::test {
namespace {

using simt::MmaInput;

MmaTiles mma_kernel_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::mma_tiles;
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::mma_tiles;
#endif
    default:
      return on_simulator::mma_tiles;
  }
}

LdmatrixRows ldmatrix_kernel_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::ldmatrix_rows;
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::ldmatrix_rows;
#endif
    default:
      return on_simulator::ldmatrix_rows;
  }
}

// FNV-1a (Fowler, Noll, Vo) over whole words.
class WordHash {
 public:
  template <typename Word>
  void add(const Word* words, std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) {
      hash_ = (hash_ ^ words[index]) * 0x100000001b3u;
    }
  }
  void add(const float (&rows)[16][8]) {
    std::uint32_t bits[16 * 8];
    std::memcpy(bits, rows, sizeof bits);
    add(bits, std::size(bits));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

template <int kDepth>
std::uint64_t hash_of_inputs(const std::vector<MmaTile<kDepth>>& tiles) {
  WordHash hash;
  for (const MmaTile<kDepth>& tile : tiles) {
    for (const auto& row : tile.a) hash.add(row, std::size(row));
    for (const auto& row : tile.b) hash.add(row, std::size(row));
    hash.add(tile.c);
  }
  return hash.value();
}

std::uint64_t hash_of_results(const std::vector<MmaResults>& results,
                              std::size_t first,
                              std::size_t end) {
  WordHash hash;
  for (std::size_t index = first; index < std::min(end, results.size()); ++index) {
    hash.add(results[index].d);
  }
  return hash.value();
}

// One result with all that it is made of: row of A, column of B, C and D.
template <int kDepth>
std::string full_result(const MmaTile<kDepth>& tile,
                        const MmaResults& results,
                        int row,
                        int column) {
  std::string line = "a";
  for (int k = 0; k < kDepth; ++k) line += fmt::format(" {:04x}", tile.a[row][k]);
  line += " b";
  for (int k = 0; k < kDepth; ++k) line += fmt::format(" {:04x}", tile.b[k][column]);
  line += fmt::format(" c {:08x} d {:08x}", std::bit_cast<std::uint32_t>(tile.c[row][column]),
                      std::bit_cast<std::uint32_t>(results.d[row][column]));
  return line;
}

}  // namespace

template <int kDepth>
std::vector<MmaTile<kDepth>> mma_tiles_of(const MmaCategory& category,
                                          MmaInput input,
                                          int count,
                                          std::uint64_t first_seed) {
  std::vector<MmaTile<kDepth>> tiles;
  tiles.reserve(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) {
    tiles.push_back(
        mma_tile_of<kDepth>(category, input, first_seed + static_cast<std::uint64_t>(index)));
  }
  return tiles;
}

template <int kDepth>
std::vector<MmaResults> run_mma(const std::vector<MmaTile<kDepth>>& tiles,
                                MmaInput input,
                                const std::shared_ptr<Device>& device) {
  const std::size_t num_tiles = tiles.size();
  std::vector<std::uint16_t> a(num_tiles * 16 * kDepth);
  std::vector<std::uint16_t> b(num_tiles * kDepth * 8);
  std::vector<float> c(num_tiles * 16 * 8);
  for (std::size_t index = 0; index < num_tiles; ++index) {
    const MmaTile<kDepth>& tile = tiles[index];
    std::memcpy(a.data() + index * 16 * kDepth, tile.a, sizeof tile.a);
    std::memcpy(b.data() + index * kDepth * 8, tile.b, sizeof tile.b);
    std::memcpy(c.data() + index * 16 * 8, tile.c, sizeof tile.c);
  }
  const DeviceArray a_array = DeviceArray::copy_of(device, a, "a");
  const DeviceArray b_array = DeviceArray::copy_of(device, b, "b");
  const DeviceArray c_array = DeviceArray::copy_of(device, c, "c");
  std::vector<MmaResults> results(num_tiles);
  const DeviceArray d_array(device, num_tiles * sizeof(MmaResults), "d");
  MmaTilesParams params;
  params.a = a_array.as<std::uint16_t>();
  params.b = b_array.as<std::uint16_t>();
  params.c = c_array.as<float>();
  params.d = d_array.as<float>();
  params.num_tiles = static_cast<int>(num_tiles);
  params.depth = kDepth;
  params.is_bfloat16 = input == MmaInput::kBFloat16;
  mma_kernel_of (*device)(params);
  d_array.copy_to(results.data());
  return results;
}

template <int kDepth>
std::vector<MmaResults> compute_mma(const std::vector<MmaTile<kDepth>>& tiles, MmaInput input) {
  std::vector<MmaResults> results(tiles.size());
  for (std::size_t index = 0; index < tiles.size(); ++index) {
    mma_tile(tiles[index], results[index].d, input);
  }
  return results;
}

template <int kDepth>
std::vector<std::string> mma_lines(const MmaCategory& category,
                                   MmaInput input,
                                   const std::vector<MmaTile<kDepth>>& tiles,
                                   const std::vector<MmaResults>& results) {
  constexpr std::size_t kTilesPerHash = 512;
  constexpr int kFullResults = 4;
  const std::string name = name_of(category, input, kDepth);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("inputs {} {:016x}", name, hash_of_inputs(tiles)));
  for (std::size_t first = 0; first < tiles.size(); first += kTilesPerHash) {
    const std::uint64_t hash = hash_of_results(results, first, first + kTilesPerHash);
    lines.push_back(fmt::format("tiles {} {} {:016x}", name, first, hash));
  }
  for (int index = 0; index < std::min<int>(kFullResults, static_cast<int>(tiles.size()));
       ++index) {
    const std::size_t tile = static_cast<std::size_t>(index);
    const int row = 5 * index;
    const int column = 2 * index + 1;
    lines.push_back(fmt::format("result {} {} {} {} {}", name, index, row, column,
                                full_result(tiles[tile], results[tile], row, column)));
  }
  return lines;
}

std::string name_of(const MmaCategory& category, MmaInput input, int depth) {
  return fmt::format("{} m16n8k{} {}", to_string(input), depth, category.name);
}

std::vector<std::uint16_t> ldmatrix_inputs() {
  std::vector<std::uint16_t> rows;
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < kLdmatrixPitch; ++column) {
      rows.push_back(static_cast<std::uint16_t>(0x100 * row + column));
    }
  }
  return rows;
}

std::vector<std::uint32_t> run_ldmatrix(const std::shared_ptr<Device>& device,
                                        LdmatrixRowsParams params) {
  const std::vector<int> row_of_lane(std::begin(kLdmatrixRowOfLane), std::end(kLdmatrixRowOfLane));
  const DeviceArray rows = DeviceArray::copy_of(device, ldmatrix_inputs(), "rows");
  const DeviceArray lanes = DeviceArray::copy_of(device, row_of_lane, "row_of_lane");
  std::vector<std::uint32_t> registers(kLdmatrixForms * 32 * 4);
  const DeviceArray array(device, registers.size() * sizeof(std::uint32_t), "registers");
  params.rows = rows.as<std::uint16_t>();
  params.row_of_lane = lanes.as<int>();
  params.registers = array.as<std::uint32_t>();
  ldmatrix_kernel_of (*device)(params);
  array.copy_to(registers.data());
  return registers;
}

std::vector<std::string> ldmatrix_lines(const std::vector<std::uint32_t>& registers) {
  constexpr const char* kForms[kLdmatrixForms] = {"x1",       "x2",       "x4",
                                                  "x1.trans", "x2.trans", "x4.trans"};
  std::vector<std::string> lines;
  for (int form = 0; form < kLdmatrixForms; ++form) {
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint32_t* r = registers.data() + (form * 32 + lane) * 4;
      lines.push_back(fmt::format("{} lane {}: {:08x} {:08x} {:08x} {:08x}", kForms[form], lane,
                                  r[0], r[1], r[2], r[3]));
    }
  }
  return lines;
}

#define PAGELAB_INSTANTIATE(depth)                                                              \
  template std::vector<MmaTile<depth>> mma_tiles_of<depth>(const MmaCategory&, MmaInput, int,   \
                                                           std::uint64_t);                      \
  template std::vector<MmaResults> run_mma<depth>(const std::vector<MmaTile<depth>>&, MmaInput, \
                                                  const std::shared_ptr<Device>&);              \
  template std::vector<MmaResults> compute_mma<depth>(const std::vector<MmaTile<depth>>&,       \
                                                      MmaInput);                                \
  template std::vector<std::string> mma_lines<depth>(const MmaCategory&, MmaInput,              \
                                                     const std::vector<MmaTile<depth>>&,        \
                                                     const std::vector<MmaResults>&);
PAGELAB_INSTANTIATE(16)
PAGELAB_INSTANTIATE(8)

}  // namespace pagelab::test
