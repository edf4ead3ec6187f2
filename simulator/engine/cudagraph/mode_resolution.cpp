#include "simulator/engine/cudagraph/mode_resolution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "reference/contract/refuse.h"
#include "simulator/engine/cudagraph/graph_settings.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

// The resolution as it goes: each rule reads the mode that the rules before it left.
class Resolution {
 public:
  explicit Resolution(const CudagraphModeRequest& request) : request_(request) {
    resolved_.requested = request.mode;
    resolved_.mode = request.mode;
    resolved_.capture_sizes = request.capture_sizes;
  }

  ResolvedCudagraphMode run() {
    // Rule a: without graphs there is nothing to lower.
    if (resolved_.mode == CUDAGraphMode::kNone) return resolved_;
    lower_mixed_batches();
    lower_decodes_without_graphs();
    lower_decodes_of_several_tokens();
    lower_without_pieces();
    refuse_full_without_support();
    round_capture_sizes();
    require_a_mamba_block_for_each_decode();
    return resolved_;
  }

 private:
  AttentionCGSupport support() const { return request_.min_support.support; }

  // "CUDAGraphMode.FULL is not supported with FlashInferBackend backend (support: ...)".
  std::string not_supported(const std::string& with_backend) const {
    return fmt::format("CUDAGraphMode.{} is not supported with {} (support: AttentionCGSupport.{})",
                       to_string(resolved_.mode), with_backend, to_string(support()));
  }

  std::string backend() const { return request_.min_support.backend.value_or("None"); }

  void lower_to(CUDAGraphMode mode, const std::string& warning, const std::string& remedy) {
    resolved_.downgrades.push_back({resolved_.mode, mode, warning, remedy});
    resolved_.mode = mode;
  }

  // The first error stands: the rules after it are not asked.
  bool failed() const { return resolved_.error.has_value(); }

  // Rule b: a full graph of a mixed batch needs a backend that can always be recorded.
  void lower_mixed_batches() {
    if (mixed_mode(resolved_.mode) != CUDAGraphMode::kFull) return;
    if (support() == AttentionCGSupport::kAlways) return;
    const std::string reason = not_supported(backend() + " backend");
    if (support() == AttentionCGSupport::kNever) {
      resolved_.error = reason +
                        "; please try cudagraph_mode=PIECEWISE, and make sure compilation mode is "
                        "VLLM_COMPILE";
      return;
    }
    const CUDAGraphMode lower = request_.splitting_ops_contain_attention
                                    ? CUDAGraphMode::kFullAndPiecewise
                                    : CUDAGraphMode::kFullDecodeOnly;
    lower_to(lower, fmt::format("{}; setting cudagraph_mode={}", reason, to_string(lower)),
             "a backend whose support is ALWAYS");
  }

  // Rule c: decodes of a backend that can never be recorded.
  void lower_decodes_without_graphs() {
    if (failed() || decode_mode(resolved_.mode) != CUDAGraphMode::kFull) return;
    if (support() != AttentionCGSupport::kNever) return;
    const std::string reason = not_supported(backend() + " backend");
    const bool compiled_piecewise =
        request_.compilation_mode == CompilationMode::kVllmCompile &&
        (request_.splitting_ops_contain_attention || request_.use_inductor_graph_partition);
    const CUDAGraphMode lower =
        compiled_piecewise ? CUDAGraphMode::kPiecewise : CUDAGraphMode::kNone;
    lower_to(lower,
             fmt::format("{}; setting cudagraph_mode={} because attention is {}compiled piecewise",
                         reason, to_string(lower), compiled_piecewise ? "" : "not "),
             "a backend whose support is not NEVER");
  }

  // Rule d: decodes of several tokens, on a backend that records single tokens alone.
  void lower_decodes_of_several_tokens() {
    if (failed() || decode_mode(resolved_.mode) != CUDAGraphMode::kFull) return;
    if (request_.uniform_decode_query_len == 1 || support() >= AttentionCGSupport::kUniformBatch) {
      return;
    }
    const CUDAGraphMode lower =
        request_.splitting_ops_contain_attention ? CUDAGraphMode::kPiecewise : CUDAGraphMode::kNone;
    const std::string reason = not_supported("spec-decode for attention backend " + backend());
    lower_to(lower, fmt::format("{}; setting cudagraph_mode={}", reason, to_string(lower)),
             "a backend whose support is UNIFORM_BATCH or ALWAYS, or no draft tokens");
  }

  // Rule e: a model without pieces.
  void lower_without_pieces() {
    if (failed() || request_.piecewise_capture_available) return;
    if (!has_piecewise_cudagraphs(resolved_.mode)) return;
    const CUDAGraphMode lower = resolved_.mode == CUDAGraphMode::kPiecewise
                                    ? CUDAGraphMode::kNone
                                    : CUDAGraphMode::kFullDecodeOnly;
    lower_to(
        lower,
        fmt::format("Cudagraph mode {} requires piecewise capture, but the loaded model provides "
                    "neither a compiled submodule nor breakable CUDA graphs. Overriding to {}.",
                    to_string(resolved_.mode), to_string(lower)),
        "a model that is compiled piecewise (VLLM_COMPILE)");
  }

  // Rule f: what vLLM checks once more. Rules b and c leave nothing for it.
  void refuse_full_without_support() {
    if (failed() || !has_full_cudagraphs(resolved_.mode)) return;
    if (support() != AttentionCGSupport::kNever) return;
    resolved_.error = not_supported(backend() + " backend");
  }

  // Rule g: the first runner replays whole decodes only.
  void round_capture_sizes() {
    const std::int64_t query_len = request_.uniform_decode_query_len;
    if (failed() || request_.model_runner_v2 || query_len == 1) return;
    if (decode_mode(resolved_.mode) != CUDAGraphMode::kFull) return;
    const CaptureSizes rounded = rounded_to_decodes(resolved_.capture_sizes, query_len);
    if (rounded.sizes.empty()) {
      resolved_.error = fmt::format(
          "No valid cudagraph sizes after rounding to multiple of {} (num_speculative_tokens + 1) "
          "please adjust num_speculative_tokens ({}) or max_cudagraph_capture_size ({}) or "
          "cudagraph_capture_sizes ([{}])",
          query_len, query_len - 1, resolved_.capture_sizes.max,
          fmt::join(resolved_.capture_sizes.sizes, ", "));
      return;
    }
    resolved_.capture_sizes = rounded;
  }

  // Rule h: a state-space layer keeps one state a request.
  void require_a_mamba_block_for_each_decode() {
    if (failed() || !request_.has_mamba_layers || request_.is_profiling) return;
    if (!has_full_cudagraphs(resolved_.mode)) return;
    if (request_.max_num_seqs <= request_.num_mamba_blocks) return;
    resolved_.error = fmt::format(
        "max_num_seqs ({}) exceeds available Mamba cache blocks ({}). Each decode sequence "
        "requires "
        "one Mamba cache block, so CUDA graph capture cannot proceed. Please lower max_num_seqs to "
        "at "
        "most {} or increase gpu_memory_utilization.",
        request_.max_num_seqs, request_.num_mamba_blocks, request_.num_mamba_blocks);
  }

  const CudagraphModeRequest& request_;
  ResolvedCudagraphMode resolved_;
};

void require_sound(const CudagraphModeRequest& request) {
  require_sound_graph_settings(request.capture_sizes.sizes, request.uniform_decode_query_len,
                               request.max_num_seqs);
  require_in_range("num_mamba_blocks", request.num_mamba_blocks, 0, kMostTokens);
  const std::vector<std::int64_t>& sizes = request.capture_sizes.sizes;
  const std::int64_t largest = sizes.empty() ? 0 : sizes.back();
  if (largest != request.capture_sizes.max) {
    refuse("the largest capture size is {}, but the maximum is {}.", largest,
           request.capture_sizes.max);
  }
}

// What batches that lost their graphs pay, in words.
std::string cost_of(CUDAGraphMode mode) {
  if (mode == CUDAGraphMode::kNone) return "the CPU launches every kernel of every step by itself";
  if (mode == CUDAGraphMode::kPiecewise) {
    return "the CPU launches each layer's attention in every step, between two replays";
  }
  if (mode == CUDAGraphMode::kFullDecodeOnly) {
    return "the CPU launches every kernel of a step that mixes prefill and decode by itself";
  }
  return "the CPU launches each layer's attention in a step that mixes prefill and decode";
}

}  // namespace

ResolvedCudagraphMode resolve_cudagraph_mode(const CudagraphModeRequest& request) {
  require_sound(request);
  ResolvedCudagraphMode resolved = Resolution(request).run();
  if (request.strict && !resolved.error && resolved.mode != resolved.requested) {
    refuse("cudagraph mode {} was asked for strictly, but only {} can run: {}",
           to_string(resolved.requested), to_string(resolved.mode),
           resolved.downgrades.front().warning);
  }
  return resolved;
}

CaptureSizes rounded_to_decodes(const CaptureSizes& sizes, std::int64_t uniform_decode_query_len) {
  const std::int64_t query_len = uniform_decode_query_len;
  std::set<std::int64_t> rounded;
  for (const std::int64_t size : sizes.sizes) {
    const std::int64_t whole_decodes = (size + query_len - 1) / query_len * query_len;
    if (whole_decodes <= sizes.max) rounded.insert(whole_decodes);
  }
  if (rounded.empty() && query_len <= sizes.max) rounded.insert(query_len);
  return {{rounded.begin(), rounded.end()}, rounded.empty() ? 0 : *rounded.rbegin()};
}

std::string to_string(const ResolvedCudagraphMode& resolved) {
  std::string text = fmt::format("CUDA graphs: {} was asked for", to_string(resolved.requested));
  if (resolved.error) return fmt::format("{}, and cannot run: {}\n", text, *resolved.error);
  if (resolved.downgrades.empty()) return text + ", and runs.\n";
  text += fmt::format(", {} runs.\n", to_string(resolved.mode));
  for (const CudagraphDowngrade& downgrade : resolved.downgrades) {
    text += fmt::format("  reason: {}\n  it would take: {}\n", downgrade.warning, downgrade.remedy);
  }
  text += fmt::format("  cost: {}\n", cost_of(resolved.mode));
  return text;
}

}  // namespace pagelab
