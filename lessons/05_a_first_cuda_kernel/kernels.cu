// The kernels of this lesson's example, for the target that this file is compiled for.

#include "lessons/05_a_first_cuda_kernel/scores.cuh"

#if defined(PAGELAB_CHECKED)
#include "lessons/05_a_first_cuda_kernel/faults.cuh"
#endif
