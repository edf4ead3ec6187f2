/// \file
/// CUDA's atomics on global and shared memory, for a C++ compiler that does not know them. Each
/// returns what the memory held before, and nothing comes between its read and its write.
///
/// Abstracted: the order in which threads get their turn is the simulator's. A sum of floats depends
/// on it, as it does on a GPU.
///
/// Source: CUDA C++ Programming Guide, "Atomic Functions".
#pragma once

#include "simulator/simt/not_hooked.h"

namespace pagelab::simt {

/// What an atomic does with the old value and the operand.
enum class Atomic : unsigned char {
  kAdd,        ///< old + operand
  kSub,        ///< old − operand
  kMin,        ///< the smaller
  kMax,        ///< the larger
  kExchange,   ///< operand
  kAnd,        ///< old & operand
  kOr,         ///< old | operand
  kXor,        ///< old ^ operand
  kIncrement,  ///< 0 where old ≥ operand, else old + 1
  kDecrement,  ///< operand where old is 0 or > operand, else old − 1
};

/// Changes one number in memory.
/// \param kind     how
/// \param address  of the number; a multiple of its size
/// \param operand  the second argument
/// \param pc       where the kernel called
/// \returns        the number before
template <typename Number>
Number atomic(Atomic kind, Number* address, Number operand, const void* pc);

/// Writes `desired` if the memory holds `expected`. \returns what it held before
template <typename Number>
Number atomic_compare_and_swap(Number* address, Number expected, Number desired, const void* pc);

/// What was written before is seen by other cores before what is written after.
void fence();

}  // namespace pagelab::simt

// NOLINTBEGIN(google-global-names-in-headers, readability-identifier-naming): in CUDA these names are
// global.
/// Defines one word for one type of number.
#define PAGELAB_ATOMIC(word, kind, Number)                                                    \
  [[gnu::noinline, PAGELAB_NOT_HOOKED]] inline Number word(Number* address, Number operand) { \
    return pagelab::simt::atomic(pagelab::simt::Atomic::kind, address, operand,               \
                                 __builtin_return_address(0));                                \
  }
/// Defines one word for the integers that CUDA has it for.
#define PAGELAB_ATOMIC_OF_INTEGERS(word, kind) \
  PAGELAB_ATOMIC(word, kind, int)              \
  PAGELAB_ATOMIC(word, kind, unsigned int)     \
  PAGELAB_ATOMIC(word, kind, unsigned long long)
PAGELAB_ATOMIC_OF_INTEGERS(atomicAdd, kAdd)
PAGELAB_ATOMIC(atomicAdd, kAdd, float)
PAGELAB_ATOMIC(atomicAdd, kAdd, double)
PAGELAB_ATOMIC(atomicSub, kSub, int)
PAGELAB_ATOMIC(atomicSub, kSub, unsigned int)
PAGELAB_ATOMIC_OF_INTEGERS(atomicMin, kMin)
PAGELAB_ATOMIC(atomicMin, kMin, long long)
PAGELAB_ATOMIC_OF_INTEGERS(atomicMax, kMax)
PAGELAB_ATOMIC(atomicMax, kMax, long long)
PAGELAB_ATOMIC_OF_INTEGERS(atomicExch, kExchange)
PAGELAB_ATOMIC(atomicExch, kExchange, float)
PAGELAB_ATOMIC_OF_INTEGERS(atomicAnd, kAnd)
PAGELAB_ATOMIC_OF_INTEGERS(atomicOr, kOr)
PAGELAB_ATOMIC_OF_INTEGERS(atomicXor, kXor)
PAGELAB_ATOMIC(atomicInc, kIncrement, unsigned int)
PAGELAB_ATOMIC(atomicDec, kDecrement, unsigned int)
#undef PAGELAB_ATOMIC_OF_INTEGERS
#undef PAGELAB_ATOMIC

/// Defines atomicCAS for one type of number.
#define PAGELAB_ATOMIC_CAS(Number)                                                                \
  [[gnu::noinline, PAGELAB_NOT_HOOKED]] inline Number atomicCAS(Number* address, Number expected, \
                                                                Number desired) {                 \
    return pagelab::simt::atomic_compare_and_swap(address, expected, desired,                     \
                                                  __builtin_return_address(0));                   \
  }
PAGELAB_ATOMIC_CAS(int)
PAGELAB_ATOMIC_CAS(unsigned int)
PAGELAB_ATOMIC_CAS(unsigned short)
PAGELAB_ATOMIC_CAS(unsigned long long)
#undef PAGELAB_ATOMIC_CAS
// NOLINTEND(google-global-names-in-headers, readability-identifier-naming)
