/// \file
/// What the checks remember of memory: for every four bytes who wrote them last and who has read them
/// since, with the places in the code. Four bytes are one cell until somebody touches a part of them;
/// then each half, or each byte, has a cell of its own, so that neighbouring threads may write
/// neighbouring bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/simt/happens_before.h"

namespace pagelab::simt {

/// Bytes that one cell stands for.
constexpr std::size_t kWordBytes = 4;

/// A place in the program's code: the distance of a return address from the program's first byte; 0 if
/// it lies outside the program.
using Site = std::uint32_t;

/// The linker's name for the program's first byte.
extern "C" const char __executable_start[];

/// The site of a return address.
inline Site site_of(const void* pc) {
  const std::ptrdiff_t distance = static_cast<const char*>(pc) - __executable_start;
  const Site site = static_cast<Site>(distance);
  return static_cast<std::ptrdiff_t>(site) == distance ? site : 0;
}
/// The return address of a site; nullptr for 0.
const void* pc_of(Site site);

/// How finely the four bytes of a cell are told apart.
enum class Grain : std::uint16_t {
  kWord,    ///< one cell for all
  kHalves,  ///< this cell is for the first two bytes only
  kBytes,   ///< this cell is for the first byte only
};

/// The latest accesses to some bytes, as far as each access asks for them: small, because a kernel that walks
/// through memory has its cells in no cache. All zero: never touched.
///
/// Two readers are enough: of any number of reads that no barrier orders, one from an earlier thread
/// block, or else two from different warps, or else two lanes, make sure that whoever writes later
/// without a barrier meets at least one.
struct Cell {
  Stamp write = 0;             ///< the last write
  Stamp reads[2] = {};         ///< reads after it
  Grain grain = Grain::kWord;  ///< of the four bytes
  bool has_atomics = false;    ///< whether race_check.h remembers atomics on these bytes
};

/// Where in the code they were made: written with them, and read for a report.
struct CellSites {
  Site write = 0;      ///< of the write
  Site reads[2] = {};  ///< of the reads
};

/// A cell and its sites.
struct CellRef {
  Cell* cell;        ///< nullptr: none
  CellSites* sites;  ///< of the same bytes

  /// The cell of bytes further on. \param cells  how many cells away
  CellRef operator+(std::size_t cells) const { return {cell + cells, sites + cells}; }
};

/// The cells of one stretch of memory. Addresses are reserved; what is never touched takes no memory.
class Shadow {
 public:
  Shadow() = default;
  /// \param bytes   of the memory
  /// \throws Error  if the system refuses the addresses
  explicit Shadow(std::size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  Shadow(Shadow&& other) noexcept;             ///< takes the other's cells
  Shadow& operator=(Shadow&& other) noexcept;  ///< exchanges cells

  /// The cells of whole words, from the first; that of byte b in a word lies `b * cells_per_plane()` further.
  CellRef cells() const { return cells_; }
  /// Words.
  std::size_t cells_per_plane() const { return cells_per_plane_; }
  /// Forgets everything and gives the memory back.
  void clear();
  /// Gives back the memory that stood for some bytes, and perhaps for some hundred on either side.
  /// \param offset  of the first byte
  /// \param bytes   how many
  void forget(std::size_t offset, std::size_t bytes);

 private:
  std::size_t num_cells() const { return 4 * cells_per_plane_; }

  CellRef cells_ = {};
  std::size_t cells_per_plane_ = 0;
};

}  // namespace pagelab::simt
