/// \file
/// `PAGELAB_UNROLL` before a loop of constant length: on a GPU the loop is written out, so that an array
/// that it indexes can lie in registers, which have no addresses. To a C++ compiler it says nothing.
#pragma once

#if defined(__CUDACC__)
#define PAGELAB_UNROLL _Pragma("unroll")
#else
/// Writes the next loop out on a GPU.
#define PAGELAB_UNROLL
#endif
