// The fast CPU attention with vectors of 8 floats: x86-64-v3, for which everything here is compiled.

#include "gpu/backends/cpu_attn/widths.h"

#define PAGELAB_LANES 8
#define PAGELAB_WIDTH avx2
#include "gpu/backends/cpu_attn/attend_task.h"
