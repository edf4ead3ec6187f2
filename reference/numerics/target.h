/// \file
/// The two marks that shared arithmetic carries. The same header is compiled for the CPU reference,
/// for the simulator and for the GPU; each of them gets copies of its own, in an inline namespace,
/// so that the linker never mixes two compilers' code.
#pragma once

#if defined(__CUDACC__)
/// Marks a function that host and GPU code may both call.
#define PAGELAB_HD __host__ __device__
/// The inline namespace of this translation unit's copies.
#define PAGELAB_TARGET on_cuda
#elif defined(PAGELAB_CHECKED)
#define PAGELAB_HD
#define PAGELAB_TARGET on_checked_simulator
#elif defined(PAGELAB_SIMULATED)
#define PAGELAB_HD
#define PAGELAB_TARGET on_simulator
#else
/// Marks a function that host and GPU code may both call; to a C++ compiler it says nothing.
#define PAGELAB_HD
/// The inline namespace of this translation unit's copies.
#define PAGELAB_TARGET on_host
#endif
