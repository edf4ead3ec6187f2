/// \file
/// The five settings of CUDA graphs. A graph is a recorded sequence of kernel launches that is replayed with one
/// call; what may be recorded differs between batches that only decode and batches that mix prefill and
/// decode, so a mode is a pair of answers.
#pragma once

#include <cstdint>
#include <string>

namespace pagelab {

/// How CUDA graphs are used. The first three are also what one step runs as; the last two are pairs.
///
///     mode               batches of decodes   mixed batches
///     NONE               eager                eager
///     PIECEWISE          piecewise            piecewise
///     FULL               full                 full
///     FULL_DECODE_ONLY   full                 eager
///     FULL_AND_PIECEWISE full                 piecewise
///
/// Piecewise: everything between the attention layers is replayed, attention itself is launched kernel by kernel.
/// \source vLLM config/compilation.py, CUDAGraphMode
enum class CUDAGraphMode : std::uint8_t {
  kNone = 0,              ///< NONE: every kernel is launched by itself
  kPiecewise = 1,         ///< PIECEWISE: the model without its attention is replayed
  kFull = 2,              ///< FULL: the whole forward pass is replayed
  kFullDecodeOnly = 3,    ///< FULL_DECODE_ONLY: (FULL, NONE)
  kFullAndPiecewise = 4,  ///< FULL_AND_PIECEWISE: (FULL, PIECEWISE)
};

/// "FULL_AND_PIECEWISE": the name as users write it and as messages print it.
std::string to_string(CUDAGraphMode mode);

/// The mode of this name. \throws Error for another one, with those that there are
CUDAGraphMode cudagraph_mode_of(const std::string& name);

/// What batches of decodes run as: NONE, PIECEWISE or FULL.
CUDAGraphMode decode_mode(CUDAGraphMode mode);
/// What mixed batches run as: NONE, PIECEWISE or FULL.
CUDAGraphMode mixed_mode(CUDAGraphMode mode);

/// Whether batches of decodes have graphs of their own: the mode is a pair.
bool separate_routine(CUDAGraphMode mode);
/// Whether some batch runs as FULL.
bool has_full_cudagraphs(CUDAGraphMode mode);
/// Whether some batch runs as PIECEWISE.
bool has_piecewise_cudagraphs(CUDAGraphMode mode);

/// What vLLM takes if the user sets no mode.
/// \param optimization_level  of -O0 to -O3; vLLM's own default is 2
/// \throws Error              for another level
CUDAGraphMode default_cudagraph_mode(int optimization_level);

}  // namespace pagelab
