/// \file
/// From the CUDA-graph mode that was asked for to the one that runs. The weakest attention backend of the model
/// decides what can be recorded; vLLM lowers the mode step by step, and warns each time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/registry/cudagraph_support.h"
#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/cudagraph/cudagraph_mode.h"

namespace pagelab {

/// How the model is compiled, by vLLM's numbers.
/// \source vLLM config/compilation.py, CompilationMode
enum class CompilationMode : std::uint8_t {
  kNone = 0,               ///< NONE: not at all
  kStockTorchCompile = 1,  ///< STOCK_TORCH_COMPILE: by PyTorch, as a whole
  kDynamoTraceOnce = 2,    ///< DYNAMO_TRACE_ONCE: traced once, not by pieces
  kVllmCompile = 3,        ///< VLLM_COMPILE: by pieces, cut at the splitting ops
};

/// All that the mode depends on.
struct CudagraphModeRequest {
  CUDAGraphMode mode = CUDAGraphMode::kFullAndPiecewise;             ///< what was asked for
  MinCGSupport min_support = {};                                     ///< the weakest backend
  CompilationMode compilation_mode = CompilationMode::kVllmCompile;  ///< how the model is compiled
  bool splitting_ops_contain_attention = true;  ///< the model is cut at its attention layers
  bool use_inductor_graph_partition = false;    ///< the compiler cuts, instead of the splitting ops
  bool piecewise_capture_available = true;      ///< the loaded model has pieces to record
  std::int64_t uniform_decode_query_len = 1;    ///< query tokens of a decode: 1 + draft tokens
  bool model_runner_v2 = true;                  ///< the second runner, which rounds sizes by itself
  CaptureSizes capture_sizes = {};              ///< before rounding
  bool has_mamba_layers = false;                ///< each decode needs a state block of its own
  bool is_profiling = false;                    ///< memory is still being measured
  std::int64_t num_mamba_blocks = 0;            ///< state blocks of the cache
  std::int64_t max_num_seqs = 256;              ///< requests in a batch
  bool strict = false;  ///< refuse to run as less than what was asked for (pagelab's own)
};

/// One lowering of the mode.
struct CudagraphDowngrade {
  CUDAGraphMode from;   ///< before
  CUDAGraphMode to;     ///< after
  std::string warning;  ///< vLLM's text
  std::string remedy;   ///< what would have avoided it, in our words
};

/// What the mode became, and why.
struct ResolvedCudagraphMode {
  CUDAGraphMode requested = CUDAGraphMode::kNone;  ///< what was asked for
  CUDAGraphMode mode = CUDAGraphMode::kNone;  ///< what runs; means nothing if there is an error
  CaptureSizes capture_sizes;                 ///< rounded for several tokens a decode (V1)
  std::vector<CudagraphDowngrade> downgrades = {};  ///< in the order in which vLLM warns
  std::optional<std::string> error = {};            ///< vLLM's ValueError; none: the engine starts
};

/// Lowers a mode to what the weakest backend and the compiled model can do.
/// \throws Error  if a setting is out of range, or the request is strict and the mode would be lowered
/// \source        vLLM v1/worker/gpu_model_runner.py, _check_and_update_cudagraph_mode
ResolvedCudagraphMode resolve_cudagraph_mode(const CudagraphModeRequest& request);

/// A few lines for people: what was asked for, what runs, each reason, what that costs, and what would avoid it.
std::string to_string(const ResolvedCudagraphMode& resolved);

/// Capture sizes when each decode has several tokens: rounded up to whole decodes, as long as they stay within
/// the old maximum; if none does, one decode, if that fits.
/// \returns  no sizes if not even one decode fits
CaptureSizes rounded_to_decodes(const CaptureSizes& sizes, std::int64_t uniform_decode_query_len);

}  // namespace pagelab
