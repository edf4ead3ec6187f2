/// \file
/// CUDA's words for a barrier and for what the lanes of a warp tell each other, for a C++ compiler
/// that does not know them; cuda_words.h makes them global. Each is a call that the compiler cannot
/// look into, so that its return address is the place in the kernel.
///
/// Stricter than a GPU: a lane that takes a value from a lane that does not take part is an error
/// (a GPU gives any value), and so is a mask that names a lane that has returned. Lanes that a last,
/// partial warp does not have may be named.
///
/// Source: CUDA C++ Programming Guide, "Synchronization Functions", "Warp Vote Functions", "Warp
/// Match Functions", "Warp Reduce Functions", "Warp Shuffle Functions"; PTX ISA, `shfl.sync`.
#pragma once

#include <cstdint>
#include <cstring>

#include "simulator/simt/not_hooked.h"

namespace pagelab::simt {

/// All threads of the thread block meet here.
void syncthreads();
/// The same; \returns for how many threads the predicate is not zero
int syncthreads_count(int predicate);
/// The same; \returns 1 if the predicate is zero for none of them, else 0
int syncthreads_and(int predicate);
/// The same; \returns 1 if the predicate is not zero for one of them at least, else 0
int syncthreads_or(int predicate);

/// Lanes of a warp meet here, and see what the others wrote before.
void syncwarp(unsigned int mask = 0xffffffffu);

/// Lanes of `mask` whose predicate is not zero.
unsigned int ballot_sync(unsigned int mask, int predicate);
/// Whether the predicate is zero for no lane of `mask`.
int all_sync(unsigned int mask, int predicate);
/// Whether the predicate is not zero for one lane of `mask` at least.
int any_sync(unsigned int mask, int predicate);
/// Lanes that run together: those that, with no lane able to go further, wait at the same place.
unsigned int activemask();

/// From which lane a shuffle takes its value.
enum class Shuffle : std::uint8_t {
  kIndexed,  ///< __shfl_sync: the lane of that number, in the caller's segment
  kUp,       ///< __shfl_up_sync: so many lanes below
  kDown,     ///< __shfl_down_sync: so many lanes above
  kXor,      ///< __shfl_xor_sync: the lane whose number differs in these bits
};

/// The value that another lane brought, as bits.
/// \param kind   which lane
/// \param mask   lanes that take part
/// \param bits   this lane's value
/// \param lane   number, distance or bits, as `kind` says
/// \param width  lanes of a segment: 1, 2, 4, 8, 16 or 32
/// \param pc     where the kernel called
std::uint64_t shuffle(Shuffle kind,
                      unsigned int mask,
                      std::uint64_t bits,
                      unsigned int lane,
                      int width,
                      const void* pc);

/// Lanes of `mask` that brought the same bits as this one.
unsigned int match_any(unsigned int mask, std::uint64_t bits, const void* pc);
/// `mask` if all its lanes brought the same bits, else 0; and whether they did.
unsigned int match_all(unsigned int mask, std::uint64_t bits, int* predicate, const void* pc);

/// What becomes of the numbers of a warp.
enum class Reduction : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };
/// One number from those of all lanes of `mask`.
unsigned int reduce(Reduction kind, unsigned int mask, unsigned int value, const void* pc);
/// The same for signed numbers.
int reduce(Reduction kind, unsigned int mask, int value, const void* pc);

/// The bits of a number of up to 8 bytes.
template <typename Number>
inline std::uint64_t bits_of(Number number) {
  static_assert(sizeof(Number) == 4 || sizeof(Number) == 8, "a warp exchanges 4 or 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(Number));
  return bits;
}

/// The number that has these bits.
template <typename Number>
inline Number from_bits(std::uint64_t bits) {
  Number number;
  std::memcpy(&number, &bits, sizeof(Number));
  return number;
}

}  // namespace pagelab::simt

// NOLINTBEGIN(google-global-names-in-headers, readability-identifier-naming): in CUDA these names are
// global.

/// A word of CUDA's: called, never inlined, and not instrumented.
#define PAGELAB_SIMT_WORD [[gnu::noinline, PAGELAB_NOT_HOOKED]]

/// Overloads as CUDA has them, so that a short or a bool becomes an int here as well.
#define PAGELAB_WARP_EXCHANGE_OF(Number)                                                          \
  PAGELAB_SIMT_WORD inline Number __shfl_sync(unsigned int mask, Number value, int lane,          \
                                              int width = 32) {                                   \
    using namespace pagelab::simt;                                                                \
    return from_bits<Number>(shuffle(Shuffle::kIndexed, mask, bits_of(value),                     \
                                     static_cast<unsigned int>(lane), width,                      \
                                     __builtin_return_address(0)));                               \
  }                                                                                               \
  PAGELAB_SIMT_WORD inline Number __shfl_up_sync(unsigned int mask, Number value,                 \
                                                 unsigned int distance, int width = 32) {         \
    using namespace pagelab::simt;                                                                \
    return from_bits<Number>(shuffle(Shuffle::kUp, mask, bits_of(value), distance, width,         \
                                     __builtin_return_address(0)));                               \
  }                                                                                               \
  PAGELAB_SIMT_WORD inline Number __shfl_down_sync(unsigned int mask, Number value,               \
                                                   unsigned int distance, int width = 32) {       \
    using namespace pagelab::simt;                                                                \
    return from_bits<Number>(shuffle(Shuffle::kDown, mask, bits_of(value), distance, width,       \
                                     __builtin_return_address(0)));                               \
  }                                                                                               \
  PAGELAB_SIMT_WORD inline Number __shfl_xor_sync(unsigned int mask, Number value, int lane_bits, \
                                                  int width = 32) {                               \
    using namespace pagelab::simt;                                                                \
    return from_bits<Number>(shuffle(Shuffle::kXor, mask, bits_of(value),                         \
                                     static_cast<unsigned int>(lane_bits), width,                 \
                                     __builtin_return_address(0)));                               \
  }                                                                                               \
  PAGELAB_SIMT_WORD inline unsigned int __match_any_sync(unsigned int mask, Number value) {       \
    using namespace pagelab::simt;                                                                \
    return match_any(mask, bits_of(value), __builtin_return_address(0));                          \
  }                                                                                               \
  PAGELAB_SIMT_WORD inline unsigned int __match_all_sync(unsigned int mask, Number value,         \
                                                         int* predicate) {                        \
    using namespace pagelab::simt;                                                                \
    return match_all(mask, bits_of(value), predicate, __builtin_return_address(0));               \
  }
PAGELAB_WARP_EXCHANGE_OF(int)
PAGELAB_WARP_EXCHANGE_OF(unsigned int)
PAGELAB_WARP_EXCHANGE_OF(long)
PAGELAB_WARP_EXCHANGE_OF(unsigned long)
PAGELAB_WARP_EXCHANGE_OF(long long)
PAGELAB_WARP_EXCHANGE_OF(unsigned long long)
PAGELAB_WARP_EXCHANGE_OF(float)
PAGELAB_WARP_EXCHANGE_OF(double)
#undef PAGELAB_WARP_EXCHANGE_OF

/// Defines one word for one type of number.
#define PAGELAB_WARP_REDUCTION(word, kind, Number)                            \
  PAGELAB_SIMT_WORD inline Number word(unsigned int mask, Number value) {     \
    using namespace pagelab::simt;                                            \
    return reduce(Reduction::kind, mask, value, __builtin_return_address(0)); \
  }
PAGELAB_WARP_REDUCTION(__reduce_add_sync, kAdd, int)
PAGELAB_WARP_REDUCTION(__reduce_add_sync, kAdd, unsigned int)
PAGELAB_WARP_REDUCTION(__reduce_min_sync, kMin, int)
PAGELAB_WARP_REDUCTION(__reduce_min_sync, kMin, unsigned int)
PAGELAB_WARP_REDUCTION(__reduce_max_sync, kMax, int)
PAGELAB_WARP_REDUCTION(__reduce_max_sync, kMax, unsigned int)
PAGELAB_WARP_REDUCTION(__reduce_and_sync, kAnd, unsigned int)
PAGELAB_WARP_REDUCTION(__reduce_or_sync, kOr, unsigned int)
PAGELAB_WARP_REDUCTION(__reduce_xor_sync, kXor, unsigned int)
#undef PAGELAB_WARP_REDUCTION

/// CUDA's name of syncthreads.
#define __syncthreads pagelab::simt::syncthreads
/// CUDA's name of syncthreads_count.
#define __syncthreads_count pagelab::simt::syncthreads_count
/// CUDA's name of syncthreads_and.
#define __syncthreads_and pagelab::simt::syncthreads_and
/// CUDA's name of syncthreads_or.
#define __syncthreads_or pagelab::simt::syncthreads_or
/// CUDA's name of syncwarp.
#define __syncwarp pagelab::simt::syncwarp
/// CUDA's name of ballot_sync.
#define __ballot_sync pagelab::simt::ballot_sync
/// CUDA's name of all_sync.
#define __all_sync pagelab::simt::all_sync
/// CUDA's name of any_sync.
#define __any_sync pagelab::simt::any_sync
/// CUDA's name of activemask.
#define __activemask pagelab::simt::activemask
// NOLINTEND(google-global-names-in-headers, readability-identifier-naming)
