/// \file
/// What the tests of the tensor cores and the program h200_mma_golden run on a device, and the lines of
/// the tables tests/golden/h200/mma.txt and ldmatrix.txt that come of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "tests/gpu/tensor_core/ldmatrix_rows.h"
#include "tests/support/mma_tiles.h"

namespace pagelab::test {

/// Tiles of each category, input and depth in the table.
constexpr int kGoldenTiles = 8192;

/// D of one instruction.
struct MmaResults {
  float d[16][8];  ///< by rows
};

/// Tiles of a category: those of seeds first_seed, first_seed + 1, … The golden table has those from 0 on.
template <int kDepth>
std::vector<MmaTile<kDepth>> mma_tiles_of(const MmaCategory& category,
                                          simt::MmaInput input,
                                          int count,
                                          std::uint64_t first_seed = 0);

/// Runs a warp for each tile on a device.
template <int kDepth>
std::vector<MmaResults> run_mma(const std::vector<MmaTile<kDepth>>& tiles,
                                simt::MmaInput input,
                                const std::shared_ptr<Device>& device);

/// The same by the simulator's arithmetic alone, without a kernel.
template <int kDepth>
std::vector<MmaResults> compute_mma(const std::vector<MmaTile<kDepth>>& tiles,
                                    simt::MmaInput input);

/// A category's lines of mma.txt: a hash of the inputs, hashes of the results of 512 tiles each, and four
/// results in full.
template <int kDepth>
std::vector<std::string> mma_lines(const MmaCategory& category,
                                   simt::MmaInput input,
                                   const std::vector<MmaTile<kDepth>>& tiles,
                                   const std::vector<MmaResults>& results);

/// "bf16 m16n8k16 spread_20".
std::string name_of(const MmaCategory& category, simt::MmaInput input, int depth);

/// What the rows of ldmatrix_rows.h hold. \returns [32, kLdmatrixPitch]
std::vector<std::uint16_t> ldmatrix_inputs();

/// Runs every form of ldmatrix. \returns [kLdmatrixForms, 32 lanes, 4]
/// \param device  on which
/// \param params  mistakes to make; addresses are filled in
std::vector<std::uint32_t> run_ldmatrix(const std::shared_ptr<Device>& device,
                                        LdmatrixRowsParams params = {});

/// The lines of ldmatrix.txt: form, lane, registers.
std::vector<std::string> ldmatrix_lines(const std::vector<std::uint32_t>& registers);

}  // namespace pagelab::test
