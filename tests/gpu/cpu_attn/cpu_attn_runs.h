/// \file
/// The forms of CPU_ATTN that tests run, and steps long enough for all of its paths.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/backends/cpu_attn/cpu_attn.h"
#include "tests/cases/attention_cases.h"

namespace pagelab::test {

/// The widths of vector that this processor has: always 8 lanes, and 16 where there is AVX-512.
std::vector<CpuAttnWidth> cpu_attn_widths();

/// Fails the running test, naming the first difference, unless two arrays have the same bits.
/// \param what      for the message
/// \param got       what was computed
/// \param expected  what it must be
void check_identical(const char* what, const Tensor& got, const Tensor& expected);

/// Steps with keys in several partitions, rows in several tasks, and tiles that end everywhere: what
/// the shared table of small cases has not.
std::vector<AttentionCase> long_cases();

}  // namespace pagelab::test
