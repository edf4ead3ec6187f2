// The fast CPU attention with vectors of 16 floats. This file is compiled like all others; what follows the
// pragma may use AVX-512, and is called where has_avx512() says so. Everything that other files share is
// included before it: a copy of it with wider instructions might be linked in place of theirs.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gpu/backends/cpu_attn/finish.h"
#include "gpu/backends/cpu_attn/params.h"
#include "gpu/backends/cpu_attn/task_rows.h"
#include "gpu/backends/cpu_attn/widths.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/float_formats.h"

namespace pagelab::cpu_attn {

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

}  // namespace pagelab::cpu_attn

// g++ 12's own header computes with variables that it leaves undefined on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
#define PAGELAB_LANES 16
#define PAGELAB_WIDTH avx512
#include "gpu/backends/cpu_attn/attend_task.h"
#pragma GCC pop_options
