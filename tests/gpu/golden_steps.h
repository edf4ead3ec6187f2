/// \file
/// What a GPU computed, line by line, for 144 random steps: tests/golden/h200/. The program
/// h200_golden writes the lines on a GPU; a test has the CPU reproduce them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab::test {

/// Lines of both files, in the order of the steps.
struct GoldenLines {
  /// "seed inputs output lse values…": hashes of inputs, output and LSE, and the first four outputs
  /// as bits.
  std::vector<std::string> naive_attention;
  /// "seed inputs cache codes…": hashes of inputs and of the cache after the write, and its first
  /// eight bytes.
  std::vector<std::string> cache_write;
};

/// Runs the steps on a backend: every pair of dtypes in every layout, with every variant at some
/// seed.
GoldenLines golden_lines(const AttentionBackend& backend);

/// Lines of paged_prefill.txt: "rung seed inputs output lse values…", as of naive_attention.txt. Every rung on
/// steps that all of them take: 16 bits, heads of whole mma, more queries and keys than a tile has.
/// \param device  where the kernels run
std::vector<std::string> prefill_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
