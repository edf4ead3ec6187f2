/// \file
/// The words of CUDA, for a C++ compiler that does not know them. Kernels include it through
/// gpu/device/keywords.h; nvcc never sees it.
///
/// Abstracted: every function runs on the CPU, so the marks that say where a function runs mean
/// nothing here. A thread block stays on one core, so shared memory is that core's own: a static
/// array in a function, one for each core. Dynamic shared memory is gpu/device/shared_memory.h.
#pragma once

#include "simulator/simt/atomic_words.h"
#include "simulator/simt/dim3.h"
#include "simulator/simt/vector_types.h"
#include "simulator/simt/warp_words.h"

/// Runs on the GPU, launched from the host.
#define __global__
/// Runs on the GPU, called from there.
#define __device__
/// Runs on the host.
#define __host__
/// Inlined even where the compiler would rather not.
#define __forceinline__ inline __attribute__((always_inline))
/// One for all threads of a thread block. It has no initial value.
#define __shared__ static constinit thread_local
/// A promise about the size of thread blocks, for the compiler of the GPU.
#define __launch_bounds__(...)
/// Begins at a multiple of so many bytes.
#define __align__(bytes) __attribute__((aligned(bytes)))

// NOLINTBEGIN(google-global-names-in-headers, readability-identifier-naming): in CUDA these names are
// global.
using pagelab::simt::blockDim;
using pagelab::simt::blockIdx;
using pagelab::simt::dim3;
using pagelab::simt::float2;
using pagelab::simt::float4;
using pagelab::simt::gridDim;
using pagelab::simt::int2;
using pagelab::simt::int4;
using pagelab::simt::make_float2;
using pagelab::simt::make_float4;
using pagelab::simt::make_int2;
using pagelab::simt::make_int4;
using pagelab::simt::make_uint2;
using pagelab::simt::make_uint4;
using pagelab::simt::threadIdx;
using pagelab::simt::uint2;
using pagelab::simt::uint3;
using pagelab::simt::uint4;

/// Lanes of a warp.
inline constexpr int warpSize = 32;

/// Reads global memory that no thread writes meanwhile; on a GPU through another cache.
template <typename T>
__forceinline__ T __ldg(const T* address) {
  return *address;
}

/// Bits that are one.
inline int __popc(unsigned int bits) { return __builtin_popcount(bits); }
/// \copydoc __popc
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
/// Place of the lowest bit that is one, counted from 1; 0 if there is none.
inline int __ffs(int bits) { return __builtin_ffs(bits); }
/// \copydoc __ffs
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
/// Bits that are zero above the highest one; 32 if there is no one.
inline int __clz(int bits) {
  return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(bits));
}
/// Bits that are zero above the highest one; 64 if there is no one.
inline int __clzll(long long bits) {
  return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits));
}
/// The bits in reverse order.
inline unsigned long long __brevll(unsigned long long bits) {
  unsigned long long reversed = 0;
  for (int place = 0; place < 64; ++place) reversed |= (bits >> place & 1u) << (63 - place);
  return reversed;
}
/// \copydoc __brevll
inline unsigned int __brev(unsigned int bits) {
  return static_cast<unsigned int>(__brevll(bits) >> 32);
}

/// A number of another type with the same bits.
#define PAGELAB_CAST_OF_BITS(word, From, To) \
  inline To word(From number) { return __builtin_bit_cast(To, number); }
PAGELAB_CAST_OF_BITS(__float_as_int, float, int)
PAGELAB_CAST_OF_BITS(__float_as_uint, float, unsigned int)
PAGELAB_CAST_OF_BITS(__int_as_float, int, float)
PAGELAB_CAST_OF_BITS(__uint_as_float, unsigned int, float)
PAGELAB_CAST_OF_BITS(__double_as_longlong, double, long long)
PAGELAB_CAST_OF_BITS(__longlong_as_double, long long, double)
#undef PAGELAB_CAST_OF_BITS

/// Makes earlier writes visible to the thread block before later ones. A core sees its own in order.
inline void __threadfence_block() {}
/// Makes earlier writes visible to the GPU before later ones.
inline void __threadfence() { pagelab::simt::fence(); }
// NOLINTEND(google-global-names-in-headers, readability-identifier-naming)
