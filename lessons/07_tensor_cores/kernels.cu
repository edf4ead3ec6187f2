// The kernel of this lesson's example, for the target that this file is compiled for.

#include "lessons/07_tensor_cores/fragments.cuh"
