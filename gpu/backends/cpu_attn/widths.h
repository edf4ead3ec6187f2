/// \file
/// The same code for two widths of vector, and which of them this processor runs.
#pragma once

#include "gpu/backends/cpu_attn/params.h"

namespace pagelab::cpu_attn {

/// Does one task.
using AttendTask = void (*)(const Params& params, const Task& task, Scratch& scratch);

namespace avx2 {
/// Does one task with vectors of 8 floats, which every processor has that pagelab runs on.
void attend_task(const Params& params, const Task& task, Scratch& scratch);
}  // namespace avx2

namespace avx512 {
/// Does one task with vectors of 16 floats.
void attend_task(const Params& params, const Task& task, Scratch& scratch);
}  // namespace avx512

/// Whether this processor has vectors of 16 floats, with all instructions that avx512.cpp uses.
bool has_avx512();

}  // namespace pagelab::cpu_attn
