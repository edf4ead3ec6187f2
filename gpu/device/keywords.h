/// \file
/// CUDA's own words, `__global__`, `threadIdx` and their like. On a GPU nvcc knows them; on a CPU
/// the simulator gives them their meaning. A kernel file includes this and is plain CUDA.
#pragma once

#if !defined(__CUDACC__)
#include "simulator/simt/cuda_words.h"
#endif
