/// \file
/// The golden texts by a model that is recorded and replayed as a whole, in every mode of graphs that a backend's support
/// leaves as it is.
#pragma once

#include <string>
#include <vector>

#include "tests/simulator/engine/generation/golden_texts.h"

namespace pagelab::test {

/// Modes in which pagelab's backends can be recorded. FLASHINFER supports graphs of single-token decodes, so that vLLM
/// makes FULL_AND_PIECEWISE of FULL.
inline std::vector<CUDAGraphMode> recordable_modes(const std::string& backend) {
  std::vector<CUDAGraphMode> modes = {CUDAGraphMode::kPiecewise, CUDAGraphMode::kFullDecodeOnly,
                                      CUDAGraphMode::kFullAndPiecewise};
  if (backend != "FLASHINFER") modes.push_back(CUDAGraphMode::kFull);
  return modes;
}

/// Begins the six texts, in chunks and in a pool that they outgrow, with graphs up to the largest step.
/// \param backend     that attends; runs kernels
/// \param mode        of graphs, as resolved
/// \param num_tokens  of each text
inline void check_recorded_texts(const AttentionBackend& backend,
                                 CUDAGraphMode mode,
                                 std::int64_t num_tokens) {
  const std::string name = backend.name() + " " + to_string(mode);
  CAPTURE(name);
  const GoldenWork work = {.num_relatives = 0, .num_tokens = num_tokens};
  const Features features = {.prefix_caching = true,
                             .preemption = true,
                             .chunked_prefill = true,
                             .cascade = false,
                             .graphs = true,
                             .graph_mode = mode};
  const std::vector<GoldenText> requests = golden_requests(work);
  EngineOptions options = options_of(features, requests, work, 16);
  options.max_num_seqs = 32;  // graphs go up to twice as many tokens: 64, the whole budget
  const StepTotals totals = totals_of(check_golden_requests(backend, requests, options));
  CHECK(totals.num_preemptions > 0);
  const auto& [eager, piecewise, full] = totals.num_steps_of_mode;
  CHECK((full > 0) == has_full_cudagraphs(mode));
  CHECK((piecewise > 0) == has_piecewise_cudagraphs(mode));
  CHECK((eager > 0) == (mode == CUDAGraphMode::kFullDecodeOnly));
  CHECK(totals.num_padding_tokens > 0);
}

}  // namespace pagelab::test
