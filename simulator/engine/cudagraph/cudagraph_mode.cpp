#include "simulator/engine/cudagraph/cudagraph_mode.h"

#include <array>

#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"

namespace pagelab {
namespace {

// In the order of the enumerators.
const std::vector<std::string> kCudagraphModeNames = {"NONE", "PIECEWISE", "FULL",
                                                      "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"};

}  // namespace

std::string to_string(CUDAGraphMode mode) {
  return kCudagraphModeNames[static_cast<std::size_t>(mode)];
}

CUDAGraphMode cudagraph_mode_of(const std::string& name) {
  for (std::size_t index = 0; index < kCudagraphModeNames.size(); ++index) {
    if (name == kCudagraphModeNames[index]) return static_cast<CUDAGraphMode>(index);
  }
  refuse("cudagraph mode is {}{}; it may be one of: {}.", name,
         did_you_mean(name, kCudagraphModeNames), fmt::join(kCudagraphModeNames, ", "));
}

CUDAGraphMode decode_mode(CUDAGraphMode mode) {
  return separate_routine(mode) ? CUDAGraphMode::kFull : mode;
}

CUDAGraphMode mixed_mode(CUDAGraphMode mode) {
  if (mode == CUDAGraphMode::kFullDecodeOnly) return CUDAGraphMode::kNone;
  if (mode == CUDAGraphMode::kFullAndPiecewise) return CUDAGraphMode::kPiecewise;
  return mode;
}

bool separate_routine(CUDAGraphMode mode) {
  return mode == CUDAGraphMode::kFullDecodeOnly || mode == CUDAGraphMode::kFullAndPiecewise;
}

bool has_full_cudagraphs(CUDAGraphMode mode) { return decode_mode(mode) == CUDAGraphMode::kFull; }

bool has_piecewise_cudagraphs(CUDAGraphMode mode) {
  return mixed_mode(mode) == CUDAGraphMode::kPiecewise;
}

CUDAGraphMode default_cudagraph_mode(int optimization_level) {
  switch (optimization_level) {
    case 0:
      return CUDAGraphMode::kNone;
    case 1:
      return CUDAGraphMode::kPiecewise;
    case 2:
    case 3:
      return CUDAGraphMode::kFullAndPiecewise;
    default:
      refuse("the optimization level is {}; it may be 0, 1, 2 or 3.", optimization_level);
  }
}

}  // namespace pagelab
